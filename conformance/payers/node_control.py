"""The control address of a simulated node, and secrets of the profile: the same for every EVM and SVM payer."""

from __future__ import annotations

from typing import Any

import aiohttp

from conformance.check import Inconclusive
from conformance.client import Names
from conformance.target import ProfileError, Secret


class NodeControl:
    """Control verbs of one node (profile 9.1); without an address it has none."""

    def __init__(self, url: str | None, what: str, seconds: float) -> None:
        self._url = url
        self._what = what
        # One connection a call: a verb is not idempotent, so it must not meet a connection that the node just closed.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=True),
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=seconds),
        )

    async def close(self) -> None:
        """Close connections."""
        await self._session.close()

    @property
    def exists(self) -> bool:
        """Whether the profile gives the address."""
        return self._url is not None

    async def carry_out(self, verb: str, **members: Any) -> dict[str, Any]:
        """Carry out a control verb and return the node's answer.

        Raises:
            Inconclusive: The node has none, could not be asked, or refused it.
        """
        if self._url is None:
            raise Inconclusive(f"this {self._what} node has no control verbs")
        answer = await self._ask("POST", {"verb": verb, **members})
        if answer.get("ok") is not True:
            raise Inconclusive(f"the {self._what} node refused the control verb {verb}: {answer.get('error')}")
        return answer

    async def fault_names(self) -> tuple[str, ...]:
        """Return the faults that the node can be made to show; none without control verbs."""
        if self._url is None:
            return ()
        faults = (await self._ask("GET", None)).get("faults", ())
        return tuple(str(name) for name in faults) if isinstance(faults, list | tuple | dict) else ()

    async def _ask(self, method: str, body: Any) -> dict[str, Any]:
        try:
            async with self._session.request(method, str(self._url), json=body) as response:
                answer = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as fault:
            raise Inconclusive(f"the {self._what} control address could not be asked: {fault}") from fault
        return answer if isinstance(answer, dict) else {}


def read_secret(secret: Secret, names: Names, name: str, table: str) -> str:
    """Return a secret of the profile's `table`, which from now on shows in no log.

    Raises:
        Inconclusive: Its variable or file cannot be read.
    """
    try:
        text = secret.read()
    except ProfileError as fault:
        raise Inconclusive(f"[{table}]: {fault}") from fault
    names.secret(text, name)
    return text
