"""JSON-RPC 2.0, one object a line: requests are answered strictly one after the other."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from typing import Any, BinaryIO, NoReturn

from river_core.conformance import failures
from river_core.conformance.failures import CodedError
from river_core.encoding import JsonText, encode_json

MAX_DIGITS = 19
"""Longer numbers stay text; none of the contract's own is longer."""

Call = Callable[[str, Any], Any]

logger = logging.getLogger(__name__)


def serve(requests: BinaryIO, answers: int, respond: Callable[[bytes], str]) -> None:
    """Answer each line on the descriptor `answers`, until there is none."""
    with os.fdopen(answers, "wb", buffering=0) as output:
        for line in requests:
            _write(output.fileno(), (respond(line) + "\n").encode())


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def answer(call: Call, line: bytes) -> str:
    """Return the response to one request as JSON text."""
    request_id = 0
    try:
        request = _parse(line)
        request_id = _request_id(request)
        result = call(_method(request), request.get("params"))
        return encode_json({"jsonrpc": "2.0", "id": request_id, "result": {} if result is None else result})
    except Exception as error:
        code = failures.code_of(error)
        if code == failures.INTERNAL_ERROR:
            logger.exception("the adapter failed")
        body = {"code": code, "message": str(error) or type(error).__name__}
        return encode_json({"jsonrpc": "2.0", "id": request_id, "error": body})


def _parse(line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line, parse_float=JsonText, parse_int=_integer, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise CodedError(failures.PARSE_ERROR, f"the line is no JSON: {error}") from error
    if not isinstance(request, dict):
        raise CodedError(failures.INVALID_REQUEST, "a request is a JSON object")
    return request


def _integer(text: str) -> int | JsonText:
    return JsonText(text) if len(text.lstrip("-")) > MAX_DIGITS or text == "-0" else int(text)


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


def _request_id(request: dict[str, Any]) -> int:
    request_id = request.get("id")
    if type(request_id) is not int or not -(2**63) <= request_id < 2**63:
        raise CodedError(failures.INVALID_REQUEST, "id must be a whole number of 64 bits")
    return request_id


def _method(request: dict[str, Any]) -> str:
    if request.get("jsonrpc") != "2.0":
        raise CodedError(failures.INVALID_REQUEST, 'jsonrpc must be "2.0"')
    method = request.get("method")
    if not isinstance(method, str):
        raise CodedError(failures.INVALID_REQUEST, "method must be text")
    return method
