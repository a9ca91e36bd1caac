"""The error codes of the suite's contract, and which of them an exception means."""

from __future__ import annotations

from river_core.errors import NotFoundError, RiverError

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_FOUND = -32001
REJECTED = -32002


class CodedError(Exception):
    """A failure whose code is known where it is found."""

    def __init__(self, code: int, text: str) -> None:
        """Take a code of the contract and a text for people."""
        super().__init__(text)
        self.code = code


def invalid_params(text: str) -> CodedError:
    """Return the error for params that do not fit."""
    return CodedError(INVALID_PARAMS, text)


def rejected(text: str) -> CodedError:
    """Return the error for what River refuses."""
    return CodedError(REJECTED, text)


def code_of(error: BaseException) -> int:
    """Return the code of an exception: what is of River's is refused, anything else is our own fault."""
    if isinstance(error, CodedError):
        return error.code
    if isinstance(error, NotFoundError):
        return NOT_FOUND
    return REJECTED if isinstance(error, RiverError) else INTERNAL_ERROR
