"""py-algorand-sdk's client with a bounded size and time of answers, and without redirects."""

from __future__ import annotations

import http.client
import io
import json
import socket
import time
import urllib.error
import urllib.request
from email.message import Message
from typing import IO, Any, Final, cast
from urllib.parse import urlencode

from algosdk import constants
from algosdk.error import AlgodHTTPError, AlgodResponseError
from algosdk.v2client.algod import AlgodClient, api_version_path_prefix

from conformance.http.client import LONGEST_BODY


# The SDK would follow a redirect to another host, with the node's token in its header.
class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Follow no redirect."""
        del req, fp, code, msg, headers, newurl


class _TimedStream(io.RawIOBase):
    """The bytes of a connection until a deadline."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._stream = cast("io.RawIOBase", connection.makefile("rb", buffering=0))
        # One deadline for the whole answer: the timeout of a socket begins again with each byte, so a node that sends
        # one byte a second would hold the thread, and with it the end of the process.
        self._ends = time.monotonic() + (connection.gettimeout() or 0)

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read the next bytes.

        Raises:
            TimeoutError: The time is over.
        """
        seconds_left = self._ends - time.monotonic()
        if seconds_left <= 0:
            raise TimeoutError("timed out")
        self._connection.settimeout(seconds_left)
        return self._stream.readinto(buffer)

    def close(self) -> None:
        """Close it."""
        self._stream.close()
        super().close()


class _TimedAnswer(http.client.HTTPResponse):
    """An answer that is whole within the timeout of its connection."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_TimedStream(sock))


class _TimedHttp(http.client.HTTPConnection):
    response_class = _TimedAnswer


class _TimedHttps(http.client.HTTPSConnection):
    response_class = _TimedAnswer


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Open a connection with a deadline for its answers."""
        return self.do_open(_TimedHttp, req)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Open a connection with a deadline for its answers."""
        return self.do_open(_TimedHttps, req)


_OPENER: Final = urllib.request.build_opener(_NoRedirects, _Http, _Https)


class BoundedAlgod(AlgodClient):
    """An algod client that reads answers up to `LONGEST_BODY` bytes and a number of seconds."""

    def __init__(self, token: str, address: str, seconds: float) -> None:
        super().__init__(token, address)
        self._seconds = seconds

    def algod_request(
        self,
        method: str,
        requrl: str,
        params: Any = None,
        data: bytes | None = None,
        headers: dict[str, str] | None = None,
        response_format: str | None = "json",
        timeout: int | None = 30,
    ) -> Any:
        """Ask the node, like the SDK's method of this name.

        Raises:
            AlgodHTTPError: It answered with a status of 300 or more.
            AlgodResponseError: Its answer is not JSON, or too large.
        """
        fields = {"User-Agent": "py-algorand-sdk", **(self.headers or {}), **(headers or {})}
        if requrl not in constants.no_auth:
            fields[constants.algod_auth_header] = self.algod_token
        if requrl not in constants.unversioned_paths:
            requrl = api_version_path_prefix + requrl
        url = self.algod_address + requrl + (f"?{urlencode(params)}" if params else "")
        request = urllib.request.Request(url, headers=fields, method=method, data=data)  # noqa: S310 - the profile's
        try:
            with _OPENER.open(request, timeout=min(self._seconds, timeout or self._seconds)) as response:
                body = _read_body(response)
        except urllib.error.HTTPError as refused:
            raise _read_refusal(refused) from refused
        if response_format != "json":
            return body
        try:
            return json.loads(body) if body else {}
        except (ValueError, RecursionError) as fault:
            raise AlgodResponseError("Failed to parse JSON response from algod") from fault


def _read_body(response: http.client.HTTPResponse | urllib.error.HTTPError) -> bytes:
    # One byte more than allowed shows that the answer is too long, without reading all of it.
    body = response.read(LONGEST_BODY + 1)
    if len(body) > LONGEST_BODY:
        raise AlgodResponseError(f"its answer is longer than {LONGEST_BODY} bytes, of which no more is read")
    return body


def _read_refusal(answer: urllib.error.HTTPError) -> AlgodHTTPError:
    try:
        error = json.loads(_read_body(answer))
        return AlgodHTTPError(error["message"], answer.code, error.get("data"))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return AlgodHTTPError(answer, answer.code, None)
