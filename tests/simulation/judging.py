"""What must hold, judged while a world runs and at its end; and the trace, which is the same for the same seed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.loop import VirtualLoop
from tests.simulation.wire import Answer

_SLOWEST_ANSWER = 20.0


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must not be.

    Attributes:
        rule: Its short name.
        at: Virtual seconds since the beginning.
        actor: Whose matter it is.
        what: What was seen.
    """

    rule: str
    at: float
    actor: str
    what: str

    def __str__(self) -> str:
        """Return it as a line."""
        return f"{self.rule} ({self.actor}, after {self.at:.0f} s): {self.what}"


@dataclass(slots=True)
class Judge:
    """Sees every answer.

    Attributes:
        loop: Tells the time.
        lines: The trace, where it is wanted.
        violations: What must not be and was.
        transfers: Who made each transfer.
        bought: What each transfer has bought: what its answers say, or which link it has paid.
        paid_links: Which transaction has paid a link, by its token.
        requests: How many requests were answered.
        given_back: Transfers that an operator has given back, or has tried to.
    """

    loop: VirtualLoop
    lines: list[str] | None = None
    violations: list[Violation] = field(default_factory=list)
    transfers: dict[str, str] = field(default_factory=dict)
    bought: dict[str, set[bytes]] = field(default_factory=dict)
    paid_links: dict[str, str] = field(default_factory=dict)
    given_back: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    requests: int = 0
    _hash: Any = field(default_factory=hashlib.sha256)

    def note(self, actor: str, *words: object) -> None:
        """Write a line into the trace."""
        line = f"{self.loop.time():.6f} {actor} {' '.join(map(str, words))}"
        self._hash.update(line.encode() + b"\n")
        if self.lines is not None:
            self.lines.append(line)

    @property
    def trace(self) -> str:
        """The hash of all that was noted."""
        return str(self._hash.hexdigest())

    def count(self, kind: str) -> None:
        """Count something for the summary."""
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def note_violation(self, rule: str, actor: str, description: str) -> None:
        """Note what must not be."""
        self.note(actor, "VIOLATION", rule, description)
        self.violations.append(Violation(rule, self.loop.time(), actor, description))

    def judge_answer(self, actor: str, worker: str, answer: Answer, seconds: float) -> None:
        """Judge any answer."""
        self.count(str(answer.status))
        self.requests += 1
        if answer.status >= 500 and (answer.status != 503 or "retry-after" not in answer.headers):
            self.note_violation("server-error", actor, f"{worker} answered {answer.status}: {answer.body[:200]!r}")
        if seconds > _SLOWEST_ANSWER:
            self.note_violation("slow-answer", actor, f"{worker} took {seconds:.0f} s")

    def judge_served(self, actor: str, tx_id: str, token: str, answer: Answer) -> None:
        """Judge an answer that was paid for: it is this payer's, and the transfer's only one."""
        bodies = self.bought.setdefault(tx_id, set())
        bodies.add(content(answer.body))
        if len(bodies) > 1:
            self.note_violation("bought-twice", actor, f"transfer {tx_id} has bought {len(bodies)} answers")
        if self.transfers.get(tx_id) != actor:
            self.note_violation("anothers-proof", actor, f"served by a transfer of {self.transfers.get(tx_id)}")
        del token

    def paid_link(self, actor: str, tx_id: str, told_tx_id: str, token: str) -> None:
        """Judge a link that is paid: a transfer has bought this and nothing else."""
        if told_tx_id != tx_id:
            self.note_violation("anothers-proof", actor, f"paid by {told_tx_id} and not by {tx_id}")
        self.paid_links[token] = told_tx_id
        bought_things = self.bought.setdefault(tx_id, set())
        bought_things.add(f"link {token}".encode())
        if len(bought_things) > 1:
            self.note_violation("bought-twice", actor, f"transfer {tx_id} has bought {len(bought_things)} things")

    def refused_for_good(self, actor: str, description: str) -> None:
        """An honest payer was sent away with his money gone."""
        self.note_violation("honest-refused", actor, description)

    def judge_repeat(self, actor: str, first: Answer, answer: Answer) -> None:
        """Judge a stored answer."""
        if answer.status != 200:
            self.note_violation("answer-lost", actor, f"{answer.status} {answer.body[:120]!r}")
        elif (answer.body, answer.headers.get("payment-response")) != (first.body, first.headers["payment-response"]):
            self.note_violation("answer-changed", actor, "another body or PAYMENT-RESPONSE than at first")


def content(body: bytes) -> bytes:
    """Return what an answer says, the same by whichever door it comes."""
    return json.dumps(json.loads(body), sort_keys=True).encode()
