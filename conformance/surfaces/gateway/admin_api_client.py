"""A gateway's tenants through its internal API, as an administrator (3.9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import aiohttp
import orjson

from conformance.http.transport import PLAIN_ANSWERS, read_whole

_SECONDS = 15
_ADVICE = {
    401: "the admin key is not accepted; it is in the file admin_key of the gateway's data directory",
    404: "this gateway has no such tenant, key, destination or delivery",
    429: "the gateway limits calls; try again in a moment",
}


class GatewayRefused(Exception):
    """The gateway refused; the text says why and what to do."""


class GatewayUnreachable(Exception):
    """There is no answer that is one; the text says from where."""


@dataclass(frozen=True, slots=True, repr=False)
class GatewayAdministrator:
    """Who asks, and where. It shows nothing of its key.

    Attributes:
        url: Address of the gateway, without a slash at its end.
        key: An administrator's key.
    """

    url: str
    key: str

    async def ask(self, method: str, *path: str, body: Any = None, query: Mapping[str, str] | None = None) -> Any:
        """Carry out one call of `/internal/tenants` and return its answer, None when there is no content.

        Args:
            method: Its method.
            path: Parts of the path below `/internal/tenants`.
            body: Sent as JSON when it is not None.
            query: Its query.

        Raises:
            GatewayRefused: Any status but 2xx.
            GatewayUnreachable: No answer, or one that is not the gateway's.
        """
        url = "/".join([f"{self.url}/internal/tenants", *(quote(part, safe="") for part in path)])
        timeout = aiohttp.ClientTimeout(total=_SECONDS)
        headers = {"Authorization": f"Bearer {self.key}", **PLAIN_ANSWERS}
        try:
            # Proxies of the environment and redirects could send the key to another host.
            async with (
                aiohttp.ClientSession(trust_env=False, timeout=timeout, auto_decompress=False) as session,
                session.request(
                    method, url, json=body, params=query, headers=headers, allow_redirects=False
                ) as response,
            ):
                return _answer(response.status, await read_whole(response), self.url)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as fault:
            trouble = f"no gateway answers at {self.url} ({type(fault).__name__})"
            raise GatewayUnreachable(f"{trouble}; start one with `weldproof up` or give --url") from fault


def _answer(status: int, body: bytes, url: str) -> Any:
    try:
        value = orjson.loads(body) if body else None
    except orjson.JSONDecodeError as fault:
        raise GatewayUnreachable(f"what answers at {url} with {status} is no gateway: its body is not JSON") from fault
    # A success without content, such as after a deletion, has the value None.
    if 200 <= status < 300:
        return value
    members = value if isinstance(value, dict) else {}
    code, message = members.get("error", "no code"), _ADVICE.get(status) or members.get("message", "no message")
    where = "".join(f"; {'.'.join(map(str, item['loc']))}: {item['msg']}" for item in _items(members))
    raise GatewayRefused(f"{status} {code}: {message}{where}")


def _items(members: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    detail = members.get("detail")
    items = detail if isinstance(detail, list) else []
    return [item for item in items if isinstance(item, dict) and isinstance(item.get("loc"), list) and "msg" in item]
