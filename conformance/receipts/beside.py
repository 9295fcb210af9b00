"""A run against two targets: the same call is made on both, and their receipts are put side by side.

Rows are judged on the run's own target alone. Nothing is judged here: each comparison is an event in the log, and so is
each one that could not be made.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from conformance.discovery.rail import Operation
from conformance.engine.session import Session
from conformance.http.client import Client, Names
from conformance.http.transport import HttpTransport
from conformance.http.trust import make_context
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive
from conformance.receipts.obtaining import BESIDE, CANNOT, Party, Taken, bought, offered, screening
from conformance.receipts.offline.comparing import Circumstances, compare, members
from conformance.receipts.offline.comparison_rules import TITLES
from conformance.report.side_by_side import Side
from conformance.surfaces.gateway.calls import SCREEN
from conformance.target import Profile, ProfileError

_PREFIX = "BESIDE_"
_SURFACES = {"rail": "paid calls", "gateway": f"POST {SCREEN}"}
_RECEIPTS = "receipts"
_REQUEST_HASH = "request_hash"
Sides = tuple[Side, Side]


@dataclass(frozen=True, slots=True)
class Beside:
    """Compares receipts of a run's target with another target's, after the checks of the run.

    Attributes:
        other: The other target.
        surfaces: Surfaces whose rows the run has; the others are not called.
        lanes: Only these lanes, when given.
    """

    other: Profile
    surfaces: frozenset[str]
    lanes: Sequence[str] = ()

    async def __call__(self, session: Session, client: Client, log: EventLog, *, is_stopped: bool) -> None:
        """Compare what both targets have.

        Args:
            session: The run's session.
            client: A client of the run.
            log: The run's log.
            is_stopped: Whether the run stopped at a breach, so that nothing is called any more.
        """
        names = _names(session.profile, self.other)
        told = _Telling((Side(names[0]), Side(names[1])), log, client.names)
        if is_stopped:
            told.missing(_RECEIPTS, None, "the run stopped at the first requirement that fails")
            return
        transport = HttpTransport(
            seconds=self.other.budgets.request,
            requests_per_second=self.other.pace.requests_per_second,
            connections=128,
            tls=make_context(self.other.tls),
        )
        async with transport:
            its = client.with_transport(transport)
            other = Session(self.other, its, client.names, session.seed, _PREFIX, session.wallet)
            left, right = Party(names[0], session, client, log), Party(names[1], other, its, log)
            try:
                await other.open()
                await _Comparing(left, right, self.surfaces, self.lanes, told).everything()
            except ProfileError as fault:
                told.missing(_RECEIPTS, None, f"{names[1]}: {fault}")
            except Exception as fault:  # noqa: BLE001 - a fault of the suite here must not cost the run its verdicts
                log.add("note", check=BESIDE, text=client.names.redact(traceback.format_exc()))
                told.missing(_RECEIPTS, None, f"a fault of the suite: {type(fault).__name__}: {fault}")
            finally:
                await other.close()


@dataclass(frozen=True, slots=True)
class _Telling:
    """Writes comparisons into the log, secrets and live values taken out once they have been compared."""

    sides: Sides
    log: EventLog
    names: Names

    def missing(self, call: str, lane: str | None, reason: str, sides: Sides | None = None) -> None:
        """Say that there is nothing to compare, and why."""
        self._add(call, lane, sides or self.sides, reason, None, [])

    def compared(self, call: str, lane: str | None, both: tuple[Taken, Taken], paths: tuple[str, str]) -> None:
        """Compare two receipts, or say which one is missing."""
        one, other = both
        sides = one.side, other.side
        if one.receipt is None or other.receipt is None:
            faults = [f"{taken.side.name}: {taken.side.fault}" for taken in both if taken.receipt is None]
            self.missing(call, lane, "; ".join(faults), sides)
            return
        places = one.request_at, other.request_at
        both_there = places == (_REQUEST_HASH, _REQUEST_HASH) and one.recipe is not None and other.recipe is not None
        recipes = (str(one.recipe), str(other.recipe)) if both_there else None
        payments: Literal["two", "unknown"] = "unknown" if lane is None else "two"
        found = compare(one.receipt, other.receipt, Circumstances(payments, recipes, paths, places))
        self._add(call, lane, sides, None, found.grade.value, members(found))

    def _add(
        self,
        call: str,
        lane: str | None,
        sides: Sides,
        missing: str | None,
        grade: str | None,
        claims: Sequence[Mapping[str, Any]],
    ) -> None:
        told = {"call": call, "left": asdict(sides[0]), "right": asdict(sides[1]), "missing": missing, "claims": claims}
        self.log.add("comparison", lane=lane, grade=grade, **self._redacted(told))

    def _redacted(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.names.redact(value)
        if isinstance(value, Mapping):
            return {name: self._redacted(member) for name, member in value.items()}
        return [self._redacted(one) for one in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True)
class _Comparing:
    """One comparison of two targets."""

    left: Party
    right: Party
    surfaces: frozenset[str]
    lanes: Sequence[str]
    told: _Telling

    async def everything(self) -> None:
        """Compare the receipts of every surface that both claim."""
        shared = False
        for surface, call in _SURFACES.items():
            lacking = [one.name for one in self._parties if not one.profile.claims_surface(surface)]
            shared |= not lacking
            if len(lacking) == 1:
                self.told.missing(call, None, f"{lacking[0]} does not claim the surface {surface}")
            elif not lacking and surface not in self.surfaces:
                self.told.missing(call, None, f"the run has no row of the surface {surface}")
            elif not lacking:
                await (self._paid_calls() if surface == "rail" else self._screening())
        if not shared:
            self.told.missing(_RECEIPTS, None, "no surface that emits receipts, rail or gateway, is claimed by both")

    @property
    def _parties(self) -> tuple[Party, Party]:
        return self.left, self.right

    async def _paid_calls(self) -> None:
        """Buy each call that both sell, lanes side by side, the calls of a lane one after the other."""
        operations = []
        for party in self._parties:
            try:
                operations.append(party.session.catalog.operations)
            except Inconclusive as reason:
                self.told.missing(_SURFACES["rail"], None, f"{party.name}: {reason}")
                return
        calls, lanes = list(self._calls(*operations)), list(self._shared_lanes())

        async def on(lane: str) -> None:
            fault = await self._unpayable(lane)
            for one, other in calls:
                if fault is not None:
                    self.told.missing(_call(one), lane, fault)
                    continue
                await self._paid_call(one, other, lane)

        async with asyncio.TaskGroup() as group:
            for lane in lanes:
                group.create_task(on(lane))

    async def _paid_call(self, one: Operation, other: Operation, lane: str) -> None:
        """Buy one call of both with the same body, which the run's own target says; neither, where one offers none."""
        left, right = await asyncio.gather(
            offered(self.left, one, lane, one.body), offered(self.right, other, lane, one.body)
        )
        if left.quote is None or right.quote is None:
            faults = [f"{offer.side.name}: {offer.side.fault}" for offer in (left, right) if offer.quote is None]
            self.told.missing(_call(one), lane, "; ".join(faults), (left.side, right.side))
            return
        both, paths = await asyncio.gather(bought(left), bought(right)), (one.path, other.path)
        self.told.compared(_call(one), lane, both, paths)
        # The interface knows no attestation, so two answers without one lack nothing.
        if any(taken.attestation is not None for taken in both):
            attested = both[0].attested(), both[1].attested()
            self.told.compared(f"{_call(one)}: {TITLES['settlement_attestation']}", lane, attested, paths)

    def _calls(self, ones: Sequence[Operation], others: Sequence[Operation]) -> Iterator[tuple[Operation, Operation]]:
        """Yield the operations of both that are the same service: by its role, else by its path."""
        waiting = {_service(one): one for one in others}
        for one in ones:
            if (other := waiting.pop(_service(one), None)) is not None:
                yield one, other
            else:
                self.told.missing(_call(one), None, f"{self.right.name} lists no paid call for {_service(one)}")
        for one in waiting.values():
            self.told.missing(_call(one), None, f"{self.left.name} lists no paid call for {_service(one)}")

    def _shared_lanes(self) -> Iterator[str]:
        claimed = [lane for party in self._parties for lane in party.profile.claims.lanes]
        for lane in dict.fromkeys(lane for lane in claimed if not self.lanes or lane in self.lanes):
            lacking = [party.name for party in self._parties if lane not in party.profile.claims.lanes]
            if lacking:
                self.told.missing(_SURFACES["rail"], lane, f"{lacking[0]} does not claim the lane {lane}")
            else:
                yield lane

    async def _unpayable(self, lane: str) -> str | None:
        """Return why a lane cannot be paid on both sides, or None; it is known before the first payment."""
        faults = []
        for party in self._parties:
            try:
                await party.session.payers.for_rail(lane)
            except CANNOT as reason:
                faults.append(f"{party.name}: {reason}")
        return "; ".join(faults) or None

    async def _screening(self) -> None:
        """Screen the same address at both."""
        call = _SURFACES["gateway"]
        body = self.left.profile.gateway_bindings.screen_body
        unbound = [one.name for one in self._parties if one.profile.gateway_bindings.screen_body is None]
        if body is None or unbound:
            self.told.missing(call, None, f"unbound: no [gateway] screen_body of {' and '.join(unbound)}")
            return
        both = await asyncio.gather(screening(self.left, body), screening(self.right, body))
        self.told.compared(call, None, both, (SCREEN, SCREEN))


def _call(operation: Operation) -> str:
    return f"POST {operation.path}"


def _service(operation: Operation) -> str:
    return operation.role or operation.path


def _names(one: Profile, other: Profile) -> tuple[str, str]:
    """Return the names of two targets, distinguished by their addresses if the names are equal."""
    left, right = one.target.name, other.target.name
    if left != right:
        return left, right
    left, right = (f"{profile.target.name} at {_host(profile)}" for profile in (one, other))
    return (left, right) if left != right else (f"{left}, once", f"{right}, again")


def _host(profile: Profile) -> str:
    address = next((surface.url for surface in profile.surfaces.values()), "")
    return urlsplit(address).netloc or "no address"
