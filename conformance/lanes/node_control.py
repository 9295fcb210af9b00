"""Control verbs of a node (specification 9.1), and secrets of the profile, for the payers of all lanes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from conformance.http.client import Names
from conformance.http.transport import PLAIN_ANSWERS, read_whole
from conformance.outcome import Inconclusive, NodeCannotShow
from conformance.target import ProfileError, Secret

_SPECIFICATION = "as the table of simulator control lists for real nodes (specification 9.1)"


class NodeControl:
    """The control verbs of one node (specification 9.1); a node without a control address has none."""

    def __init__(self, url: str | None, chain: str, seconds: float) -> None:
        self._url = url
        self._chain = chain
        self._verbs: frozenset[str] | None = None
        # A new connection for each call: a verb is not idempotent, so it must not be sent on a connection that the node
        # has just closed.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=True),
            trust_env=False,
            auto_decompress=False,
            headers=dict(PLAIN_ANSWERS),
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
            NodeCannotShow: The node has no control verbs, or not this one.
            Inconclusive: The node could not be asked, or refused it.
        """
        if self._url is None:
            raise NodeCannotShow(
                f"this {self._chain} node has no control verbs, so that {verb} cannot be asked for (specification 9.1)"
            )
        # Asked first, so that the row is documented for nodes that lack the verb, instead of undecided.
        if await self.lacks(verb):
            raise NodeCannotShow(f"this {self._chain} node lacks the control verb {verb}, {_SPECIFICATION}")
        answer = await self._ask("POST", {"verb": verb, **members})
        # Anything but `true` is a refusal: a check must not go on as if the chain were in the wanted state.
        if answer.get("ok") is not True:
            raise Inconclusive(f"the {self._chain} node refused the control verb {verb}: {answer.get('error')}")
        return answer

    async def lacks(self, verb: str) -> bool:
        """Return whether the node has no control verbs, or lists its verbs and not this one."""
        if self._url is None:
            return True
        if self._verbs is None:
            verbs = (await self._ask("GET", None)).get("verbs", ())
            self._verbs = frozenset(map(str, verbs)) if isinstance(verbs, list | tuple | dict) else frozenset()
        # A node that lists no verbs at all may still have them: the call itself then decides.
        return bool(self._verbs) and verb not in self._verbs

    async def fault_names(self) -> tuple[str, ...]:
        """Return the faults that the node can simulate; none without control verbs."""
        if self._url is None:
            return ()
        faults = (await self._ask("GET", None)).get("faults", ())
        return tuple(str(name) for name in faults) if isinstance(faults, list | tuple | dict) else ()

    async def _ask(self, method: str, body: Any) -> dict[str, Any]:
        try:
            async with self._session.request(method, str(self._url), json=body, allow_redirects=False) as response:
                answer = json.loads(await read_whole(response) or b"null")
        except (aiohttp.ClientError, TimeoutError, ValueError, RecursionError) as fault:
            raise Inconclusive(f"the {self._chain} control address could not be asked: {fault}") from fault
        return answer if isinstance(answer, dict) else {}


class Controlled:
    """A payer whose node may have control verbs."""

    def __init__(self, control: NodeControl) -> None:
        self._control = control

    @property
    def has_control(self) -> bool:
        """Whether the node has control verbs."""
        return self._control.exists

    async def control(self, verb: str, **members: Any) -> dict[str, Any]:
        """Carry out a control verb of the node.

        Raises:
            NodeCannotShow: The node does not have it.
            Inconclusive: The node refused it.
        """
        return await self._control.carry_out(verb, **members)

    @asynccontextmanager
    async def fault(self, name: str, *, seed: int = 1, count: int = 1) -> AsyncIterator[None]:
        """Have the node show a fault, `count` times at most, until the body ends."""
        await self.control("fault", name=name, seed=seed, count=count)
        try:
            yield
        finally:
            # Also after a fault of the check: other checks must not meet the simulated fault.
            await self.control("fault", name=name, seed=seed, count=0)

    async def lacks(self, verb: str) -> bool:
        """Return whether the node cannot carry out a control verb."""
        return await self._control.lacks(verb)

    async def fault_names(self) -> tuple[str, ...]:
        """Return the faults that the node can be made to show; none without control verbs."""
        return await self._control.fault_names()


def read_secret(secret: Secret, names: Names, name: str, table: str) -> str:
    """Return a secret of the profile's `table`, and redact it in all logs.

    Raises:
        Inconclusive: Its variable or file cannot be read.
    """
    try:
        text = secret.read()
    except ProfileError as fault:
        raise Inconclusive(f"[{table}]: {fault}") from fault
    names.secret(text, name)
    return text
