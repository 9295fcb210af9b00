"""py-algorand-sdk's client with answers of a bounded size and without redirects.

The SDK reads an answer whatever its size, and follows a redirect to another host with the node's token.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from email.message import Message
from http.client import HTTPResponse
from typing import IO, Any, Final
from urllib.parse import urlencode

from algosdk import constants
from algosdk.error import AlgodHTTPError, AlgodResponseError
from algosdk.v2client.algod import AlgodClient, api_version_path_prefix

from conformance.http.client import LONGEST_BODY


class _Stays(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Follow nothing: the answer is that of the node."""
        del req, fp, code, msg, headers, newurl


_OPENER: Final = urllib.request.build_opener(_Stays)


class BoundedAlgod(AlgodClient):
    """An algod whose answers are read up to `LONGEST_BODY` bytes."""

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
        """Ask the node, as the SDK's method of this name does.

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
            with _OPENER.open(request, timeout=timeout) as response:
                body = _body(response)
        except urllib.error.HTTPError as refused:
            raise _refusal(refused) from refused
        if response_format != "json":
            return body
        try:
            return json.loads(body) if body else {}
        except (ValueError, RecursionError) as fault:
            raise AlgodResponseError("Failed to parse JSON response from algod") from fault


def _body(response: HTTPResponse | urllib.error.HTTPError) -> bytes:
    body = response.read(LONGEST_BODY + 1)
    if len(body) > LONGEST_BODY:
        raise AlgodResponseError(f"its answer is longer than {LONGEST_BODY} bytes, of which no more is read")
    return body


def _refusal(refused: urllib.error.HTTPError) -> AlgodHTTPError:
    try:
        told = json.loads(_body(refused))
        return AlgodHTTPError(told["message"], refused.code, told.get("data"))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return AlgodHTTPError(refused, refused.code, None)
