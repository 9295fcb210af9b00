"""Comparison of two targets (`--compare-with`): the same call is made on both, and their receipts are compared.

Rows are judged on the run's own target only. A comparison changes no verdict. Each one is an event in the log, and so
is each comparison that was impossible.
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
from conformance.http.workers import Workers
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive
from conformance.receipts.obtaining import (
    BESIDE,
    OBSTACLES,
    ObtainedReceipt,
    Party,
    buy_and_take,
    request_offer,
    screen_and_take,
)
from conformance.receipts.offline.comparing import Circumstances, compare, members
from conformance.receipts.offline.comparison_rules import TITLES
from conformance.report.receipt_comparison import Side
from conformance.surfaces.gateway.calls import SCREEN
from conformance.target import Profile, ProfileError

# Prefix of names in the log for secrets of the other target, whose own names may be the same.
_PREFIX = "BESIDE_"
_SURFACES = {"rail": "paid calls", "gateway": f"POST {SCREEN}"}
_RECEIPTS = "receipts"
# Only this claim has recipes that can be compared between two targets.
_REQUEST_HASH = "request_hash"
Sides = tuple[Side, Side]


@dataclass(frozen=True, slots=True)
class ReceiptComparison:
    """Compares receipts of a run's target with another target's, after the checks of the run.

    Attributes:
        other_target: The other target.
        surfaces: Surfaces of the run's rows; other surfaces are not called.
        lanes: Only these lanes; empty means all.
    """

    other_target: Profile
    surfaces: frozenset[str]
    lanes: Sequence[str] = ()

    async def __call__(self, session: Session, client: Client, log: EventLog, *, is_stopped: bool) -> None:
        """Compare the receipts of both targets.

        Args:
            session: The run's session.
            client: A client of the run.
            log: The run's log.
            is_stopped: Whether the run stopped at a breach, so that no more calls are made.
        """
        names = _names(session.profile, self.other_target)
        writer = _ComparisonWriter((Side(names[0]), Side(names[1])), log, client.names)
        # --fail-fast: further calls would cost money without need.
        if is_stopped:
            writer.add_missing(_RECEIPTS, None, "the run stopped at the first requirement that fails")
            return
        transport = HttpTransport(
            seconds=self.other_target.budgets.request,
            # The other target has limits of its own.
            requests_per_second=self.other_target.pace.requests_per_second,
            connections=128,
            tls=make_context(self.other_target.tls),
        )
        async with transport:
            other_client = client.with_transport(transport)
            other_client.workers = Workers(session.seed, self.other_target.workers)
            other_session = Session(
                self.other_target, other_client, client.names, session.seed, _PREFIX, session.wallet
            )
            left_party, right_party = (
                Party(names[0], session, client, log),
                Party(names[1], other_session, other_client, log),
            )
            try:
                await other_session.open()
                await _TargetComparison(left_party, right_party, self.surfaces, self.lanes, writer).compare_all()
            except ProfileError as fault:
                writer.add_missing(_RECEIPTS, None, f"{names[1]}: {fault}")
            except Exception as fault:  # noqa: BLE001 - a fault of the suite here must not cost the run its verdicts
                log.add("note", check=BESIDE, text=client.names.redact(traceback.format_exc()))
                writer.add_missing(_RECEIPTS, None, f"a fault of the suite: {type(fault).__name__}: {fault}")
            finally:
                await other_session.close()


@dataclass(frozen=True, slots=True)
class _ComparisonWriter:
    """Writes comparisons into the log. Secrets and live values are replaced after the comparison."""

    sides: Sides
    log: EventLog
    names: Names

    def add_missing(self, call: str, lane: str | None, reason: str, sides: Sides | None = None) -> None:
        """Add a comparison that was impossible, with the reason."""
        self._add(call, lane, sides or self.sides, reason, None, [])

    def add_comparison(
        self, call: str, lane: str | None, two_receipts: tuple[ObtainedReceipt, ObtainedReceipt], paths: tuple[str, str]
    ) -> None:
        """Compare two receipts and add the result, or report the missing one."""
        first, second = two_receipts
        sides = first.side, second.side
        if first.receipt is None or second.receipt is None:
            faults = [f"{taken.side.name}: {taken.side.fault}" for taken in two_receipts if taken.receipt is None]
            self.add_missing(call, lane, "; ".join(faults), sides)
            return
        places = first.request_at, second.request_at
        both_there = places == (_REQUEST_HASH, _REQUEST_HASH) and first.recipe is not None and second.recipe is not None
        # A recipe is known only if recomputing the hash gave the claim's value, so an unknown one explains no
        # difference.
        recipes = (str(first.recipe), str(second.recipe)) if both_there else None
        # A paid call is paid at both targets. A screening is about no payment of the suite.
        payments: Literal["two", "unknown"] = "unknown" if lane is None else "two"
        comparison = compare(first.receipt, second.receipt, Circumstances(payments, recipes, paths, places))
        self._add(call, lane, sides, None, comparison.grade.value, members(comparison))

    def _add(
        self,
        call: str,
        lane: str | None,
        sides: Sides,
        reason: str | None,
        grade: str | None,
        claims: Sequence[Mapping[str, Any]],
    ) -> None:
        sides_and_claims = {
            "call": call,
            "left": asdict(sides[0]),
            "right": asdict(sides[1]),
            "missing": reason,
            "claims": claims,
        }
        self.log.add("comparison", lane=lane, grade=grade, **self._redact(sides_and_claims))

    def _redact(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.names.redact(value)
        if isinstance(value, Mapping):
            return {name: self._redact(member) for name, member in value.items()}
        return [self._redact(one) for one in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True)
class _TargetComparison:
    """The comparison of two targets."""

    left_party: Party
    right_party: Party
    surfaces: frozenset[str]
    lanes: Sequence[str]
    writer: _ComparisonWriter

    async def compare_all(self) -> None:
        """Compare the receipts of every surface that both claim."""
        has_shared_surface = False
        for surface, call in _SURFACES.items():
            without_surface = [one.name for one in self._parties if not one.profile.claims_surface(surface)]
            has_shared_surface |= not without_surface
            if len(without_surface) == 1:
                self.writer.add_missing(call, None, f"{without_surface[0]} does not claim the surface {surface}")
            elif not without_surface and surface not in self.surfaces:
                self.writer.add_missing(call, None, f"the run has no row of the surface {surface}")
            elif not without_surface:
                await (self._compare_paid_calls() if surface == "rail" else self._compare_screenings())
        if not has_shared_surface:
            self.writer.add_missing(
                _RECEIPTS, None, "no surface that emits receipts, rail or gateway, is claimed by both"
            )

    @property
    def _parties(self) -> tuple[Party, Party]:
        return self.left_party, self.right_party

    async def _compare_paid_calls(self) -> None:
        """Buy each call that both sell: lanes in parallel, the calls of one lane in sequence."""
        operations = []
        for party in self._parties:
            try:
                operations.append(party.session.catalog.operations)
            except Inconclusive as reason:
                self.writer.add_missing(_SURFACES["rail"], None, f"{party.name}: {reason}")
                return
        calls, lanes = list(self._calls(*operations)), list(self._shared_lanes())

        async def on(lane: str) -> None:
            fault = await self._unpayable(lane)
            for first, second in calls:
                if fault is not None:
                    self.writer.add_missing(_call(first), lane, fault)
                    continue
                await self._compare_paid_call(first, second, lane)

        async with asyncio.TaskGroup() as group:
            for lane in lanes:
                group.create_task(on(lane))

    async def _compare_paid_call(self, first: Operation, second: Operation, lane: str) -> None:
        """Buy one call of both with the body of the run's target; buy neither if one of them makes no offer."""
        # Both offers are requested before either is paid: a payment without a counterpart would be wasted.
        left_offer, right_offer = await asyncio.gather(
            request_offer(self.left_party, first, lane, first.body),
            request_offer(self.right_party, second, lane, first.body),
        )
        if left_offer.quote is None or right_offer.quote is None:
            faults = [
                f"{offer.side.name}: {offer.side.fault}" for offer in (left_offer, right_offer) if offer.quote is None
            ]
            self.writer.add_missing(_call(first), lane, "; ".join(faults), (left_offer.side, right_offer.side))
            return
        two_receipts, paths = (
            await asyncio.gather(buy_and_take(left_offer), buy_and_take(right_offer)),
            (first.path, second.path),
        )
        self.writer.add_comparison(_call(first), lane, two_receipts, paths)
        # The interface requires no attestation, so it is not missing if both answers lack it.
        if any(taken.attestation is not None for taken in two_receipts):
            attestations = two_receipts[0].attestation_or_fault(), two_receipts[1].attestation_or_fault()
            self.writer.add_comparison(f"{_call(first)}: {TITLES['settlement_attestation']}", lane, attestations, paths)

    def _calls(
        self, left_operations: Sequence[Operation], right_operations: Sequence[Operation]
    ) -> Iterator[tuple[Operation, Operation]]:
        """Yield pairs of operations for the same service, matched by role, or by path without a role."""
        # Two operators may sell one service at two paths. Its role names it at both.
        unmatched = {_service(operation): operation for operation in right_operations}
        for operation in left_operations:
            if (match := unmatched.pop(_service(operation), None)) is not None:
                yield operation, match
            else:
                self.writer.add_missing(
                    _call(operation), None, f"{self.right_party.name} lists no paid call for {_service(operation)}"
                )
        for operation in unmatched.values():
            self.writer.add_missing(
                _call(operation), None, f"{self.left_party.name} lists no paid call for {_service(operation)}"
            )

    def _shared_lanes(self) -> Iterator[str]:
        claimed_lanes = [lane for party in self._parties for lane in party.profile.claims.lanes]
        for lane in dict.fromkeys(lane for lane in claimed_lanes if not self.lanes or lane in self.lanes):
            without_lane = [party.name for party in self._parties if lane not in party.profile.claims.lanes]
            if without_lane:
                self.writer.add_missing(_SURFACES["rail"], lane, f"{without_lane[0]} does not claim the lane {lane}")
            else:
                yield lane

    async def _unpayable(self, lane: str) -> str | None:
        """Return why a lane cannot be paid on one of the sides, or None. It is checked before the first payment."""
        faults = []
        for party in self._parties:
            try:
                # Opening the payer finds a missing node, key or SDK before any money is spent.
                await party.session.payers.for_rail(lane)
            except OBSTACLES as reason:
                faults.append(f"{party.name}: {reason}")
        return "; ".join(faults) or None

    async def _compare_screenings(self) -> None:
        """Screen the same address at both."""
        call = _SURFACES["gateway"]
        body = self.left_party.profile.gateway_bindings.screen_body
        unbound = [one.name for one in self._parties if one.profile.gateway_bindings.screen_body is None]
        if body is None or unbound:
            self.writer.add_missing(call, None, f"unbound: no [gateway] screen_body of {' and '.join(unbound)}")
            return
        two_receipts = await asyncio.gather(
            screen_and_take(self.left_party, body), screen_and_take(self.right_party, body)
        )
        self.writer.add_comparison(call, None, two_receipts, (SCREEN, SCREEN))


def _call(operation: Operation) -> str:
    return f"POST {operation.path}"


def _service(operation: Operation) -> str:
    return operation.role or operation.path


def _names(first: Profile, second: Profile) -> tuple[str, str]:
    """Return the names of two targets, distinguished by their addresses if the names are equal."""
    first_name, second_name = first.target.name, second.target.name
    if first_name != second_name:
        return first_name, second_name
    # A report needs two names. Equal names come from two profiles without a name, or from one target compared twice.
    first_name, second_name = (f"{profile.target.name} at {_host(profile)}" for profile in (first, second))
    return (first_name, second_name) if first_name != second_name else (f"{first_name}, once", f"{second_name}, again")


def _host(profile: Profile) -> str:
    address = next((surface.url for surface in profile.surfaces.values()), "")
    return urlsplit(address).netloc or "no address"
