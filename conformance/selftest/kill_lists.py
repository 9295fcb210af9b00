"""The kill lists: which rows must catch which mutant, as data in the folder `mutants`.

A kill list names, for one mutant, the row its author said beforehand must catch it, and every further (row, verdict)
pair with the reason why that row sees it too. It is exact over the surface: a pair that is missing and a pair that is
too many both fail the selftest. Only where calls race may a row see the fault at times; it is listed with what must
meet for that.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import ndiff
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from conformance.ledger import load
from conformance.outcome import Verdict
from conformance.vocabulary.profile_claims import LANES

DEFAULT_LANES = LANES[:1]
BREACHES = frozenset({Verdict.FAIL, Verdict.WARN})
# The folder is a package next to this one, in a checkout and in a wheel.
_FOLDER: Final = Path(__file__).parents[2] / "mutants"


class Edit(NamedTuple):
    """A text of a file of the reference, and the text that a mutant puts there.

    Only the reference applies it. The suite shows it.
    """

    file: str
    find: str
    put: str


@dataclass(frozen=True, slots=True)
class KillList:
    """What must happen when the suite meets one mutant.

    Attributes:
        mutant: Id of the mutant.
        rule: The rule of the profile it drops, in words.
        surface: Prefixes of the rows over which the list is exact, with spaces between.
        lanes: Lanes of the stack that it runs on.
        caught_by: The row its author named beforehand.
        also: Further rows, each with the reason why it sees the fault.
        at_times: Rows that see it at times, each with what must meet for that; these may be breached or not.
        warns: Those rows whose breach only warns although they decide: the fault shows beyond what they surely say.
        receiver: Whether it is a mutant of a webhook receiver, which is then the one under test.
        edits: How it changes the reference; none if the reference has it in Python.
    """

    mutant: str
    rule: str
    surface: str
    caught_by: str
    also: Mapping[str, str]
    lanes: tuple[str, ...] = DEFAULT_LANES
    warns: tuple[str, ...] = ()
    receiver: bool = False
    at_times: Mapping[str, str] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()

    @property
    def diff(self) -> str:
        """The edits as a diff without line numbers; empty if it has no edits."""
        lines: list[str] = []
        for file, edits in groupby(self.edits, lambda edit: edit.file):
            lines += [f"--- {file}"]
            for edit in edits:
                changes = ndiff(edit.find.splitlines(), edit.put.splitlines())
                lines += [f"{line[0]}{line[2:]}" for line in changes if not line.startswith("?")]
        return "\n".join(lines)

    def list_expected_breaches(self) -> dict[str, Verdict]:
        """Return each row that must be breached and as what."""
        ledger = load()
        rows = (self.caught_by, *self.also)
        fails = {row for row in rows if ledger[row].decides} - {*self.warns}
        return {row: Verdict.FAIL if row in fails else Verdict.WARN for row in rows}

    def list_differences(self, verdicts: Mapping[str, Verdict]) -> list[str]:
        """Return one line for each difference between this list and what a run found; none when it is exact.

        Args:
            verdicts: Verdict of every row of the surface.
        """
        expected_breaches = self.list_expected_breaches()
        breaches = {row: verdicts[row] for row in verdicts if verdicts[row] in BREACHES and row not in self.at_times}
        errors = [f"{row}: {verdict.value}" for row, verdict in verdicts.items() if verdict is Verdict.ERROR]
        missing_breaches = [
            f"{row}: expected {verdict.value}, got {verdicts[row].value if row in verdicts else 'nothing'}"
            for row, verdict in expected_breaches.items()
            if breaches.get(row) is not verdict
        ]
        extra = [
            f"{row}: {verdict.value} is not on the list"
            for row, verdict in breaches.items()
            if row not in expected_breaches
        ]
        return sorted({*missing_breaches, *extra, *errors})


def load_kill_lists() -> tuple[KillList, ...]:
    """Return every committed kill list: the files of `mutants` by name, each in its own order.

    Raises:
        ValueError: An entry names an unknown row, gives no reason for a further one, or has a row warn that does not
            decide or is not on the list.
    """
    texts = [path.read_text("utf-8") for path in sorted(_FOLDER.glob("*.toml"))]
    lists = []
    for entry in (entry for text in texts for entry in tomllib.loads(text)["mutant"]):
        kill = KillList(
            *(entry["id"], entry["rule"], entry["surface"], entry["caught_by"], entry.get("also", {})),
            lanes=tuple(entry.get("lanes", DEFAULT_LANES)),
            warns=tuple(entry.get("warns", ())),
            receiver=entry.get("receiver", False),
            at_times=entry.get("at_times", {}),
            edits=tuple(Edit(**edit) for edit in entry.get("edits", ())),
        )
        reasons = {**kill.also, **kill.at_times}
        unknown = [row for row in (kill.caught_by, *reasons) if row not in load()]
        rows_without_reason = [row for row, reason in reasons.items() if not reason.strip()]
        if unknown or rows_without_reason or not kill.rule:
            raise ValueError(
                f"kill list of {kill.mutant}: unknown rows {unknown}, rows without a reason {rows_without_reason}"
            )
        deciding_rows = (kill.caught_by, *kill.also)
        if contradictions := {*deciding_rows} & {*kill.at_times}:
            raise ValueError(f"kill list of {kill.mutant}: {sorted(contradictions)} are always breached and at times")
        idle = [row for row in kill.warns if row not in deciding_rows or not load()[row].decides]
        if idle:
            raise ValueError(f"kill list of {kill.mutant}: {idle} are no deciding rows of it that could warn")
        lists.append(kill)
    return tuple(lists)


def take_shard(lists: tuple[KillList, ...], part: int, parts: int) -> tuple[KillList, ...]:
    """Return the `part`-th (from 1) of `parts` equal parts; together they are all."""
    return lists[part - 1 :: parts]
