"""The kill lists: which rows must catch which mutant, as data.

A kill list names, for one mutant, the row its author said beforehand must catch it, and every further (row, verdict)
pair with the reason why that row sees it too. It is exact over the surface: a pair that is missing and a pair that is
too many both fail the selftest. Only where calls race may a row see the fault at times; it is listed with what must
meet for that.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files

from conformance.ledger import load
from conformance.outcome import Verdict
from conformance.vocabulary.claims import LANES

DEFAULT_LANES = LANES[:1]
BREACHES = frozenset({Verdict.FAIL, Verdict.WARN})


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

    def expected(self) -> dict[str, Verdict]:
        """Return each row that must be breached and as what."""
        ledger = load()
        rows = (self.caught_by, *self.also)
        fails = {row for row in rows if ledger[row].decides} - {*self.warns}
        return {row: Verdict.FAIL if row in fails else Verdict.WARN for row in rows}

    def differences(self, found: Mapping[str, Verdict]) -> list[str]:
        """Return one line for each difference between this list and what a run found; none when it is exact.

        Args:
            found: Verdict of every row of the surface.
        """
        expected = self.expected()
        breached = {row: found[row] for row in found if found[row] in BREACHES and row not in self.at_times}
        broken = [f"{row}: {verdict.value}" for row, verdict in found.items() if verdict is Verdict.ERROR]
        missed = [
            f"{row}: expected {verdict.value}, got {found[row].value if row in found else 'nothing'}"
            for row, verdict in expected.items()
            if breached.get(row) is not verdict
        ]
        extra = [
            f"{row}: {verdict.value} is not on the list" for row, verdict in breached.items() if row not in expected
        ]
        return sorted({*missed, *extra, *broken})


def load_kill_lists() -> tuple[KillList, ...]:
    """Return every committed kill list: the files of `kills/` by name, each in its own order.

    Raises:
        ValueError: An entry names an unknown row, gives no reason for a further one, or has a row warn that does not
            decide or is not on the list.
    """
    folder = files(__package__).joinpath("kills")
    texts = [one.read_text("utf-8") for one in sorted(folder.iterdir(), key=lambda one: one.name)]
    lists = []
    for entry in (entry for text in texts for entry in tomllib.loads(text)["mutant"]):
        lanes = tuple(entry.get("lanes", DEFAULT_LANES))
        also, warns = entry.get("also", {}), tuple(entry.get("warns", ()))
        receiver = entry.get("receiver", False)
        at_times = entry.get("at_times", {})
        kill = KillList(
            *(entry["id"], entry["rule"], entry["surface"], entry["caught_by"], also, lanes, warns, receiver, at_times)
        )
        reasons = {**kill.also, **kill.at_times}
        unknown = [row for row in (kill.caught_by, *reasons) if row not in load()]
        unreasoned = [row for row, reason in reasons.items() if not reason.strip()]
        if unknown or unreasoned or not kill.rule:
            raise ValueError(f"kill list of {kill.mutant}: unknown rows {unknown}, rows without a reason {unreasoned}")
        listed = (kill.caught_by, *kill.also)
        if both := {*listed} & {*kill.at_times}:
            raise ValueError(f"kill list of {kill.mutant}: {sorted(both)} are always breached and at times")
        idle = [row for row in warns if row not in listed or not load()[row].decides]
        if idle:
            raise ValueError(f"kill list of {kill.mutant}: {idle} are no deciding rows of it that could warn")
        lists.append(kill)
    return tuple(lists)


def shard(lists: tuple[KillList, ...], part: int, parts: int) -> tuple[KillList, ...]:
    """Return the `part`-th (from 1) of `parts` equal parts; together they are all."""
    return lists[part - 1 :: parts]
