"""The six faults of payers that lose most money, by the rows that find them, and their report as text and JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.log.events import Event
from conformance.outcome import Exit, Verdict, exit_code
from conformance.report.row_result import RowResult
from conformance.report.summary import summarise
from conformance.surfaces.payer.scenes import SCENE
from conformance.text.target_text_escaping import one_line
from conformance.text.usdc import in_usdc

HONEST_CALL: Final = "PAYER-PAY-01"
_WORDS: Final = {Verdict.PASS: "ok", Verdict.FAIL: "FAIL", Verdict.WARN: "WARN", Verdict.ERROR: "ERROR"}
_STYLES: Final = {Verdict.PASS: "ok", Verdict.FAIL: "fail", Verdict.WARN: "warn", Verdict.ERROR: "fail"}
# The worst verdict of several rows first.
_ORDER: Final = (Verdict.ERROR, Verdict.FAIL, Verdict.WARN, Verdict.INCONCLUSIVE, Verdict.PASS, Verdict.NOT_APPLICABLE)


@dataclass(frozen=True, slots=True)
class Fault:
    """A way to lose money, and the rows that notice it."""

    name: str
    rows: tuple[str, ...]


FAULTS: Final = (
    Fault("pays more than the price, or more than its limit", ("PAYER-PAY-02", "PAYER-OFFER-01")),
    Fault("pays again, or drops its proof, when an answer is lost", ("PAYER-ONCE-01", "PAYER-ONCE-02")),
    Fault("pays again for each new 402", ("PAYER-ONCE-06",)),
    Fault("pays again, or loses its proof, after kill -9", ("PAYER-ONCE-08", "PAYER-ONCE-09")),
    Fault("pays in a worthless asset that has the name of USDC", ("PAYER-OFFER-02",)),
    Fault("pays on another network, or to a malformed payee", ("PAYER-OFFER-03", "PAYER-OFFER-04")),
)
ROWS: Final = (HONEST_CALL, *(row for fault in FAULTS for row in fault.rows))


@dataclass(frozen=True, slots=True)
class PayerLook:
    """What a first look at a payer found.

    Attributes:
        command: The payer's command.
        lane: The lane that it paid on.
        is_stock: Whether it is judged as a stock x402 client.
        is_cut: Whether the time of the look ended before its checks.
        rows: The judged rows by id.
        scenes: How many scenes were played.
        spent: Atomic units of simulated USDC that left the payer's accounts.
        seconds: Duration.
    """

    command: tuple[str, ...]
    lane: str
    is_stock: bool
    is_cut: bool
    rows: dict[str, RowResult]
    scenes: int
    spent: int
    seconds: float

    @classmethod
    def read(
        cls, events: Sequence[Event], command: Sequence[str], lane: str, *, is_stock: bool, is_cut: bool
    ) -> PayerLook:
        """Return the look that the events of a run describe."""
        summary = summarise(events)
        scenes = [event for event in events if event["event"] == SCENE]
        spent = sum(event["spent"] for event in scenes)
        rows = {row.id: row for row in summary.rows}
        return cls(tuple(command), lane, is_stock, is_cut, rows, len(scenes), spent, summary.seconds or 0.0)

    @property
    def exit_code(self) -> Exit:
        """0 no failure, 1 a failure, 3 a fault could not be judged, 4 a fault of the suite."""
        return exit_code(row.verdict for row in self.rows.values())

    def verdict(self, ids: Sequence[str]) -> Verdict:
        """Return the worst verdict of some rows."""
        return min((self.rows[row].verdict for row in ids), key=_ORDER.index)

    def count(self, *verdicts: Verdict) -> int:
        """Return the number of faults with one of the verdicts."""
        return sum(self.verdict(fault.rows) in verdicts for fault in FAULTS)

    @property
    def next_command(self) -> str:
        """The command that judges every requirement."""
        words = ["weldproof", "run", "PAYER", "--lane", self.lane, *(["--stock"] if self.is_stock else [])]
        return " ".join([*words, "--", shlex.join(one_line(word, 300) for word in self.command)])


def to_json(look: PayerLook) -> dict[str, Any]:
    """Return the document of `--json`."""
    return {
        "command": list(look.command),
        "lane": look.lane,
        "stock": look.is_stock,
        "honest_call": _row_to_json(look.rows[HONEST_CALL]),
        "faults": [
            {
                "fault": fault.name,
                "verdict": look.verdict(fault.rows).value,
                "requirements": [_row_to_json(look.rows[row]) for row in fault.rows],
            }
            for fault in FAULTS
        ],
        "scenes": look.scenes,
        "spent_units": str(look.spent),
        "seconds": round(look.seconds, 1),
        "next": look.next_command,
        "exit_code": int(look.exit_code),
    }


def _row_to_json(row: RowResult) -> dict[str, Any]:
    found = next(iter(row.against), None)
    return {
        "id": row.id,
        "sentence": row.requirement.sentence,
        "verdict": row.verdict.value,
        "found": row.headline if found is None else found.found or found.expected,
        "where": {} if found is None else dict(found.where),
        "fix": None if found is None else found.hint,
    }


def lines(look: PayerLook) -> Iterator[tuple[str, str]]:
    """Yield each line with its style: `title`, `ok`, `fail`, `warn`, `dim` or empty."""
    form = ", as a stock client of x402" if look.is_stock else ""
    yield f"{one_line(shlex.join(look.command), 300)}, on a simulated chain of the lane {look.lane}{form}", "title"
    yield from _describe("makes an honest call", (HONEST_CALL,), look)
    yield "", ""
    yield "The six faults of payers that lose most money", "title"
    for fault in FAULTS:
        yield from _describe(fault.name, fault.rows, look)
    yield "", ""
    yield f"Cost: {in_usdc(look.spent)} simulated USDC left the payer's accounts in {look.scenes} scenes.", ""
    broken, weak, good = look.count(Verdict.FAIL), look.count(Verdict.WARN), look.count(Verdict.PASS)
    counts = f"{broken} found, {weak} found and left open by the interface, {good} not found"
    undecided = len(FAULTS) - broken - weak - good
    counts += f", {undecided} not judged" if undecided else ""
    yield f"Of six faults: {counts}.", "fail" if broken else "warn" if weak or undecided else "ok"
    if look.is_cut:
        yield "The time was over before the end: give --seconds 120.", "warn"
    elif look.rows[HONEST_CALL].verdict is Verdict.FAIL:
        yield "Without an honest call no fault can be judged. If the payer pays on another lane, give --lane.", ""
    yield f"Every requirement: {look.next_command}", ""


def _describe(name: str, ids: Sequence[str], look: PayerLook) -> Iterator[tuple[str, str]]:
    verdict = look.verdict(ids)
    yield f"  {_WORDS.get(verdict, '-'):5} {name} ({', '.join(ids)})", _STYLES.get(verdict, "dim")
    for row in (look.rows[one] for one in ids):
        if row.verdict in {Verdict.FAIL, Verdict.WARN} and row.against:
            finding = row.against[0]
            scene = finding.where.get("scene")
            where = "" if scene is None else f" ({one_line(scene, 200)})"
            yield f"        {row.id}  {row.requirement.sentence}{where}", ""
            yield f"        expected  {one_line(finding.expected, 400)}", ""
            yield f"        found     {one_line(str(finding.found or 'nothing'), 600)}", ""
            yield f"        fix       {one_line(finding.hint or '', 400)}", ""
        elif row.verdict not in {Verdict.PASS, Verdict.FAIL, Verdict.WARN}:
            yield f"        {row.id}  {one_line(row.headline or 'not judged', 400)}", "dim"
