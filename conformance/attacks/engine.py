"""The replay engine: one captured success, replayed against the target along every axis.

A breach is a 200 whose payable receipt no payment bought, or a 200 without a receipt. The stored answer is not a
breach.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from conformance.attacks.plan import LEAST_REPLAYS, find_rows, find_unexplained, plan_replays, reduce_breach
from conformance.attacks.replay_changes import Material, Replay, list_changes
from conformance.discovery.rail import Operation, variations
from conformance.engine.check import Case
from conformance.http.client import Answer, Unreachable
from conformance.http.refusal_details import describe_refused_body
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.rail.paid_answers import extract_receipts
from conformance.surfaces.rail.purchase import Challenge, Purchase, challenge, header_value, lane_of, purchase
from conformance.surfaces.rail.unpaid_answers import cache_control, is_shareable

# Replays in flight at the same time. Concurrency also finds rails that check a proof before they mark it as spent.
_AT_ONCE = 16
_OTHER_ANSWER = OpenPoint("nothing is bought twice, but the profile states another answer", "P-ST-04")
_OPERATION_ROW: Final = "RAIL-WELD-08"
_BODY_ROW: Final = "RAIL-WELD-09"
_DISCLOSED = OpenPoint("nothing is bought again, but any client that sees the payment gets its answer", "5.7")
# By status, the row about shared caches: that of the stored answer of a paid call, and that of refusals.
ROW_BY_STATUS: Final[Mapping[int, str]] = {200: "RAIL-PAY-16", 402: "RAIL-402-18", 409: "RAIL-402-18"}


@dataclass(slots=True)
class Outcome:
    """The results of the replays of one success.

    Attributes:
        sent_count: How many were sent.
        refused_count: How many were refused.
        stored_count: How many got the stored answer.
        server_faults: Answers that are no refusal of a request.
        unanswered_replays: Replays without an answer, with the reason.
        breaches: Replays that bought something, with the answer.
        disclosures: Replays of other requests that got the stored answer.
        same_answer: The answer to the unchanged replay.
        refused_bodies: By row about another request, how such a request was refused for its body.
        shown_rows: Rows about another request for which one got past its body.
        answers_by_row: Answers by the row about shared caches.
    """

    sent_count: int = 0
    refused_count: int = 0
    stored_count: int = 0
    server_faults: list[str] = field(default_factory=list)
    unanswered_replays: list[tuple[Replay, str]] = field(default_factory=list)
    breaches: list[tuple[Replay, Answer]] = field(default_factory=list)
    disclosures: list[tuple[Replay, Answer]] = field(default_factory=list)
    same_answer: Answer | None = None
    refused_bodies: dict[str, str] = field(default_factory=dict)
    shown_rows: set[str] = field(default_factory=set)
    answers_by_row: dict[str, list[Answer]] = field(default_factory=dict)


def _find_foreign_tokens(quote: Challenge, lane: str) -> dict[str, str]:
    tokens: dict[str, str] = {}
    for entry in quote.accepts:
        other_lane = lane_of(entry)
        if other_lane not in {None, lane}:
            with contextlib.suppress(Inconclusive):
                tokens[str(other_lane)] = quote.reference(str(other_lane))
    return tokens


async def send_replay(case: Case, replay: Replay) -> Answer:
    """Send one replay."""
    names = case.client.names
    # The header's text differs from run to run, so it is named before it is sent, and the report shows the name.
    names.name(replay.value, "X_PAYMENT")
    names.name(header_value(replay.proof), "X_PAYMENT")
    url = replay.url + (f"?{replay.query}" if replay.query else "")
    body = None if replay.body is None else json.dumps(replay.body, separators=(",", ":")).encode()
    # As a list of pairs, because one axis sends the header twice, which a dictionary cannot.
    headers = [("content-type", "application/json"), *replay.headers]
    return await case.client.call(replay.method, url, body=body, headers=headers)


class Engine:
    """Replays the successes of one operation on one lane."""

    def __init__(self, case: Case, first: Purchase, second: Purchase, material: Material) -> None:
        self._case = case
        self.material = material
        self.captured = Replay(first.operation.url, "POST", "", first.challenge.body, dict(first.proof))
        self._bought_receipts = [extract_receipts(first.answer), extract_receipts(second.answer)]

    @classmethod
    async def capture(
        cls, case: Case, operation: Operation, spell: Callable[[str], Sequence[str]] | None = None
    ) -> Engine:
        """Buy an operation twice and gather the material for the changes.

        Args:
            case: The check's case.
            operation: The operation to buy.
            spell: Returns other spellings of a transaction id that the lane's node accepts, if there are any.

        Raises:
            Inconclusive: An honest payment is not served.
        """
        first = await purchase(case, operation, case.lane)
        # A second purchase, whose proof supplies real but foreign members: an invented transaction would be refused too
        # early.
        second = await purchase(case, operation, case.lane)
        other_operations = [one for one in case.session.catalog.operations if one.path != operation.path]
        live_tokens = [
            (await challenge(case, one)).reference(case.lane) for one in (operation, operation, *other_operations)
        ]
        # Real other bodies first: a variation of the usual body may be refused as malformed, and then tests nothing.
        bodies = [*operation.other_bodies, *variations(operation.body)]
        spellings = [] if spell is None else spell(str(first.proof.get("tx_id", "")))
        foreign_tokens = _find_foreign_tokens(await challenge(case, operation), case.lane)
        material = Material(
            operation, other_operations, bodies, live_tokens, dict(second.proof), spellings, foreign_tokens
        )
        return cls(case, first, second, material)

    async def replay_all(self, rng: random.Random) -> Outcome:
        """Send every planned replay and return the outcome, with each breach reduced; `rng` draws the pairs."""
        outcome = Outcome()
        is_full_run = self._case.quick is None
        plan = list(plan_replays(self.captured, self.material, rng, least=LEAST_REPLAYS if is_full_run else 0))
        replays = self._case.sample(plan, self._group_key)
        # In batches, so that a target with a small queue does not drop calls, which would count as unanswered.
        for start in range(0, len(replays), _AT_ONCE):
            batch = replays[start : start + _AT_ONCE]
            await asyncio.gather(*(self._run_replay(one, outcome) for one in batch))
        if not is_full_run:
            await self._replay_until_shown([one for one in plan if one not in replays], outcome)
        # All of them, because a row whose breach is left out here would be judged as a pass.
        places = find_unexplained([replay.changes for replay, _ in outcome.breaches])
        outcome.breaches = [await self._reduce(*outcome.breaches[place]) for place in places]
        return outcome

    def _group_key(self, replay: Replay) -> object:
        """Return the axes of a replay and the rows that it probes. A quick look takes one replay of each kind."""
        axes = {one.name: one.axis for one in list_changes(self.material)}
        return tuple(axes[name] for name in replay.changes), find_rows(replay, self.material)

    async def _replay_until_shown(self, further_replays: Sequence[Replay], outcome: Outcome) -> None:
        """Send further replays of the rows for which a quick look drew only requests with a body that is refused."""
        # A body with several changes is refused more often than one with a single change.
        for replay in sorted(further_replays, key=lambda one: len(one.changes)):
            hidden_rows = outcome.refused_bodies.keys() - outcome.shown_rows
            if not hidden_rows:
                return
            if self._row_of_other_request(replay) in hidden_rows:
                await self._run_replay(replay, outcome)

    async def _run_replay(self, replay: Replay, outcome: Outcome) -> None:
        outcome.sent_count += 1
        try:
            answer = await send_replay(self._case, replay)
        except Unreachable as fault:
            outcome.unanswered_replays.append((replay, str(fault)))
            return
        # The unchanged replay is kept, because the profile may state its answer (`[rail] replay`).
        if not replay.changes:
            outcome.same_answer = answer
        self._note_refused_body(replay, answer, outcome)
        if (row := ROW_BY_STATUS.get(answer.status)) is not None:
            outcome.answers_by_row.setdefault(row, []).append(answer)
        if answer.status == 200:
            if self.is_breach(answer):
                outcome.breaches.append((replay, answer))
            else:
                outcome.stored_count += 1
                if self._asks_something_else(replay):
                    outcome.disclosures.append((replay, answer))
        else:
            outcome.refused_count += 1
            # 503 is a regular refusal while the chain cannot be consulted, so only other server errors are noted.
            if answer.status >= 500 and answer.status != 503:
                outcome.server_faults.append(f"{', '.join(replay.changes)}: answered {answer.status}")

    def _note_refused_body(self, replay: Replay, answer: Answer, outcome: Outcome) -> None:
        """Note whether another request was refused for its body, which does not show what its payment would buy."""
        row = self._row_of_other_request(replay)
        if row is None:
            return
        refusal = describe_refused_body(answer)
        if refusal is None:
            outcome.shown_rows.add(row)
        else:
            outcome.refused_bodies.setdefault(row, refusal)

    def _row_of_other_request(self, replay: Replay) -> str | None:
        """Return the row about another operation or another body that a replay probes; None for the same request."""
        if replay.url in {one.url for one in self.material.other_operations}:
            return _OPERATION_ROW
        is_other_body = replay.url == self.captured.url and replay.body != self.captured.body
        return _BODY_ROW if is_other_body else None

    def _asks_something_else(self, replay: Replay) -> bool:
        """Return whether the replay's only change makes another request, or names a payment of another request.

        Changes of query, method and spelling do not count, because a server may ignore them.
        """
        is_other_request = replay.url != self.captured.url or replay.body != self.captured.body
        return (is_other_request or self._pairs_another(replay)) and len(replay.changes) == 1

    def _pairs_another(self, replay: Replay) -> bool:
        """Return whether a proof combines the token of one live challenge with the payment of another."""
        members, second = self.material.payment_members, self.material.second_proof
        is_foreign_payment = all(replay.proof.get(one) == second.get(one) for one in members)
        is_foreign_payment |= (
            self.material.invented_id is not None and replay.proof.get("tx_id") == self.material.invented_id
        )
        token = replay.proof.get(self.material.token_member)
        live_tokens = {*self.material.live_tokens, second.get(self.material.token_member)}
        return is_foreign_payment != (token in live_tokens)

    def is_breach(self, answer: Answer) -> bool:
        """Return whether an answer serves something that no payment bought."""
        if answer.status != 200:
            return False
        served_receipts = extract_receipts(answer)
        # Compared as whole sets: a known receipt next to a new one is a second sale all the same.
        return not any(served_receipts == bought for bought in self._bought_receipts)

    async def _reduce(self, replay: Replay, answer: Answer) -> tuple[Replay, Answer]:
        last_answer = answer

        async def breaks(candidate: Replay) -> bool:
            nonlocal last_answer
            try:
                answer_to_candidate = await send_replay(self._case, candidate)
            except Unreachable:
                return False
            if self.is_breach(answer_to_candidate):
                last_answer = answer_to_candidate
                return True
            return False

        return await reduce_breach(self.captured, replay, self.material, breaks), last_answer

    def judge(self, outcome: Outcome, where: Mapping[str, str], rows: Sequence[str]) -> None:
        """Judge the rows that the replays probe."""
        broken_rows: set[str] = set()
        for replay, answer in outcome.breaches:
            axis = ", ".join(replay.changes) or "the same bytes again"
            for row in find_rows(replay, self.material):
                if row in rows:
                    broken_rows.add(row)
                    finding = f"200 with another receipt after: {axis}"
                    self._case.expect(
                        row, False, "no second execution", finding, exchange=answer, where={**where, "axis": axis}
                    )
        self._judge_disclosed(outcome, where, rows)
        self._judge_same(outcome.same_answer, where)
        self._judge_unbroken(outcome, where, [row for row in rows if row not in broken_rows])
        for replay, reason in outcome.unanswered_replays:
            axis = ", ".join(replay.changes) or "the same bytes again"
            for row in find_rows(replay, self.material):
                if row in rows:
                    self._case.mark_inconclusive(row, f"{axis}: {reason}; without an answer it was not refused")
        for fault in outcome.server_faults:
            self._case.note(f"{where}: a replay should be refused, not break the server: {fault}")

    def _judge_unbroken(self, outcome: Outcome, where: Mapping[str, str], rows: Sequence[str]) -> None:
        """Judge the rows that no replay broke. One is open if a refused body hid each time what would be sold."""
        counts = f"{outcome.refused_count} refused, {outcome.stored_count} got the stored answer"
        finding = f"{outcome.sent_count} replays: {counts}"
        for row in rows:
            if row in outcome.refused_bodies and row not in outcome.shown_rows:
                refusal = outcome.refused_bodies[row]
                self._case.mark_inconclusive(row, f"every other request was refused for its body: {refusal}")
            else:
                self._case.expect(row, True, "no second execution", finding, where=where)

    def _judge_same(self, answer: Answer | None, where: Mapping[str, str]) -> None:
        """Judge that a spent proof on its own request gets the answer that the profile states."""
        bound_replay = self._case.profile.rail_bindings.replay
        if bound_replay is None or answer is None or answer.status >= 500 or self.is_breach(answer):
            return
        self._case.expect(
            "RAIL-WELD-11",
            (answer.status == 200) == (bound_replay == "stored-answer"),
            "the stored answer" if bound_replay == "stored-answer" else "a refusal",
            answer.status,
            exchange=answer,
            where={**where, "axis": "the same bytes again"},
            hint=f'Answer as [rail] replay = "{bound_replay}" says, or bind the real behaviour.',
            beyond=_OTHER_ANSWER,
        )

    def judge_cacheability(self, outcome: Outcome, where: Mapping[str, str]) -> None:
        """Judge that no shared cache may store the answers to replays, by the first answer that permits it."""
        for row in dict.fromkeys(ROW_BY_STATUS.values()):
            answers = outcome.answers_by_row.get(row, [])
            if not answers:
                self._case.mark_not_applicable(row, "no replay got such an answer")
                continue
            first_shareable = next((one for one in answers if is_shareable(one)), answers[0])
            requirement, labels = (
                "must not be stored by shared caches",
                {**where, "answer": f"{first_shareable.status} to a replay"},
            )
            beyond = None if first_shareable.status in {200, 402} else "the row speaks of a 402"
            is_private = not is_shareable(first_shareable)
            self._case.expect(
                row,
                is_private,
                requirement,
                cache_control(first_shareable),
                exchange=first_shareable,
                where=labels,
                beyond=beyond,
            )

    def _judge_disclosed(self, outcome: Outcome, where: Mapping[str, str], rows: Sequence[str]) -> None:
        for replay, answer in outcome.disclosures:
            for row in find_rows(replay, self.material):
                if row in rows:
                    self._case.expect(
                        row,
                        False,
                        "a refusal: this request and this payment do not belong together",
                        f"200 with the stored answer after: {replay.changes[0]}",
                        exchange=answer,
                        where={**where, "axis": replay.changes[0]},
                        beyond=_DISCLOSED,
                    )
