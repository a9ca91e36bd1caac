"""One adapter process and the requests that tests send to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

DEADLINE = 60.0


class AdapterError(Exception):
    """The adapter answered with an error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Adapter:
    """A process of `python -m river_core.conformance` on one database."""

    def __init__(self, kind: str, url: str, application_name: str) -> None:
        """Start it; it answers when its imports are done."""
        self.application_name = application_name
        environment = {
            **os.environ,
            "RIVER_CONFORMANCE_DRIVER": kind,
            "RIVER_CONFORMANCE_DATABASE_URL": url,
            "RIVER_CONFORMANCE_APPLICATION_NAME": application_name,
        }
        self._last_id = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "river_core.conformance"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )

    def send(self, line: str) -> None:
        """Send one line as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Return the next response; numbers with a fraction or an exponent stay text."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self._last_words()
        response: dict[str, Any] = json.loads(line, parse_float=str)
        return response

    def _last_words(self) -> str:
        assert self.process.stderr is not None
        return f"the adapter ended: {self.process.stderr.read().decode()[-4000:]}"

    def exchange(self, line: str) -> dict[str, Any]:
        """Send a line and return its response."""
        self.send(line)
        return self.receive()

    def start_call(self, method: str, **params: Any) -> None:
        """Send a request without waiting for its response."""
        self._last_id += 1
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        self.send(json.dumps(request))

    def end_call(self) -> Any:
        """Return the result of the request that was sent last; raises AdapterError."""
        response = self.receive()
        assert response["id"] == self._last_id
        assert response["jsonrpc"] == "2.0"
        if "error" in response:
            raise AdapterError(response["error"]["code"], response["error"]["message"])
        return response["result"]

    def call(self, method: str, **params: Any) -> Any:
        """Send a request and return its result; raises AdapterError."""
        self.start_call(method, **params)
        return self.end_call()

    def refuse(self, method: str, **params: Any) -> int:
        """Send a request that must fail and return the code."""
        try:
            result = self.call(method, **params)
        except AdapterError as error:
            return error.code
        raise AssertionError(f"{method} {params} was not refused: {result}")

    def end_input(self) -> int:
        """Close its input and return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(DEADLINE)

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.send_signal(signal.SIGKILL)
        self.close()

    def close(self) -> None:
        """Wait for the end of the process, whatever it takes."""
        if self.process.poll() is None:
            try:
                self.end_input()
            except (subprocess.TimeoutExpired, BrokenPipeError):
                self.process.kill()
        self.process.wait(DEADLINE)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
