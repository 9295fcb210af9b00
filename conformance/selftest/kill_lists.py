"""Kill lists: which rows must catch which mutant, as data in the folder `mutants`."""

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


# Theory: a kill list is exact over its surface. A missing (row, verdict) pair shows that the suite cannot see the
# fault. A pair too many shows a check that fails for another reason than its row, and would fail correct servers. The
# author names `caught_by` before the first run, so that the list is a prediction and not a copy of the result. Only
# calls that race may show a fault in some runs and not in others.
class Edit(NamedTuple):
    """A text in a file of the reference and its replacement in a mutant; only the reference applies it."""

    file: str
    find: str
    put: str


@dataclass(frozen=True, slots=True)
class KillList:
    """The rows that must catch one mutant.

    Attributes:
        mutant: Id of the mutant.
        rule: The rule of the profile that it drops, in words.
        surface: Prefixes of the rows over which the list is exact, with spaces between.
        lanes: Lanes of its stack.
        caught_by: The row that its author named before the first run.
        also: Further rows, each with the reason why it sees the fault.
        at_times: Rows that see the fault only in some runs, each with the condition; these may be breached or not.
        warns: Deciding rows whose breach only warns, because the fault shows beyond what they surely say.
        receiver: Whether it is a mutant of a webhook receiver, which is then under test.
        payer: Whether it is a mutant of a payer, which is then under test.
        edits: Its changes of the reference; empty if the reference has it in Python.
    """

    mutant: str
    rule: str
    surface: str
    caught_by: str
    also: Mapping[str, str]
    lanes: tuple[str, ...] = DEFAULT_LANES
    warns: tuple[str, ...] = ()
    receiver: bool = False
    payer: bool = False
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
        """Return each row that must be breached, with its verdict."""
        rows = (self.caught_by, *self.also)
        fails = {row for row in rows if _decides(row)} - {*self.warns}
        return {row: Verdict.FAIL if row in fails else Verdict.WARN for row in rows}

    def list_differences(self, verdicts: Mapping[str, Verdict]) -> list[str]:
        """Return one line for each difference between this list and a run; empty if the list is exact.

        Args:
            verdicts: Verdict of every row of the surface.
        """
        expected_breaches = self.list_expected_breaches()
        # A row in `at_times` may be breached or not, so it is in neither difference.
        breaches = {row: verdicts[row] for row in verdicts if verdicts[row] in BREACHES and row not in self.at_times}
        # A crashed check decides nothing, so an error never counts as a catch.
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


def _decides(row: str) -> bool:
    # The reference claims the specification.
    return load()[row].as_claimed().decides


def load_kill_lists() -> tuple[KillList, ...]:
    """Return every kill list: the files of `mutants` by name, each in the order of its entries.

    Raises:
        ValueError: An entry names an unknown row, lacks the reason of a further row, or lets a row warn that does not
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
            payer=entry["surface"].startswith("PAYER"),
            at_times=entry.get("at_times", {}),
            edits=tuple(Edit(**edit) for edit in entry.get("edits", ())),
        )
        reasons = {**kill.also, **kill.at_times}
        # Checked when the lists are loaded: a mistyped row would otherwise never be breached, or never be missed.
        unknown = [row for row in (kill.caught_by, *reasons) if row not in load()]
        rows_without_reason = [row for row, reason in reasons.items() if not reason.strip()]
        if unknown or rows_without_reason or not kill.rule:
            raise ValueError(
                f"kill list of {kill.mutant}: unknown rows {unknown}, rows without a reason {rows_without_reason}"
            )
        deciding_rows = (kill.caught_by, *kill.also)
        if contradictions := {*deciding_rows} & {*kill.at_times}:
            raise ValueError(f"kill list of {kill.mutant}: {sorted(contradictions)} are always breached and at times")
        idle = [row for row in kill.warns if row not in deciding_rows or not _decides(row)]
        if idle:
            raise ValueError(f"kill list of {kill.mutant}: {idle} are no deciding rows of it that could warn")
        lists.append(kill)
    return tuple(lists)


def take_shard(lists: tuple[KillList, ...], part: int, parts: int) -> tuple[KillList, ...]:
    """Return part number `part` (from 1) of `parts` equal parts."""
    # Every `parts`-th list: neighbours in a file take similarly long, so the parts do, too.
    return lists[part - 1 :: parts]
