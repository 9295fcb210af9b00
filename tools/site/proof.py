"""The page with what shows of each requirement that the suite sees it broken, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.cli.explain.content import Explanation, explain
from conformance.ledger import load
from conformance.report.conclusion import SURFACES
from conformance.selftest.kill_lists import load_kill_lists
from tools import sound_looks
from tools.mutation import judged, killed_mutants
from tools.mutation.stacks import STACKS
from tools.sound_looks import SoundLooks

PAGE: Final = "proof-by-requirement.md"
_MOST_MUTANTS: Final = 3
_HEAD: Final = (
    "What shows that the suite sees each requirement broken. [Proof](proof.md) explains how. *Made by rule* counts the "
    "mutants that the row failed; a trial ends with the first check that fails. *Looks* counts correct servers of "
    "different shapes in which the row passed."
)


@dataclass(frozen=True, slots=True)
class ByRule:
    """What is known of the mutants made by rule.

    Attributes:
        killed: How many a row has failed.
        rows: How many of these each row has failed; a trial ends with the first check that fails.
        verdicts: How many survivors were judged as what.
    """

    killed: int
    rows: Mapping[str, int]
    verdicts: Mapping[str, int]


def page(rows: Sequence[Explanation], mutant_count: int, by_rule: ByRule, looks: SoundLooks) -> str:
    """Return the page.

    Args:
        rows: Every requirement with what is known of it.
        mutant_count: Mutants that have a kill list.
        by_rule: What is known of those that are made by rule.
        looks: Looks of the correct server that were sound.
    """
    parts = [
        "# Proof by requirement",
        _HEAD,
        *_totals(rows, mutant_count, by_rule),
        f"{len(looks.seeds)} [looks of a correct server](chameleon.md) were sound: not one row failed or warned.",
    ]
    for surface in dict.fromkeys(one.row.surface for one in rows):
        parts += [
            f"## {SURFACES.get(surface, surface)}",
            _table([one for one in rows if one.row.surface == surface], by_rule.rows, looks.passed),
        ]
    return "\n\n".join(parts) + "\n"


def _totals(rows: Sequence[Explanation], mutant_count: int, by_rule: ByRule) -> Iterator[str]:
    unshown = [one.row.id for one in rows if one.row.documented and not one.checks]
    deciding_rows = [one for one in rows if one.row.decides and one.row.id not in unshown]
    unseen = [one.row.id for one in deciding_rows if not _kills(one)]
    yield (
        f"{len(rows)} requirements, of which {len(deciding_rows)} decide a verdict. {mutant_count} named mutants, each "
        f"caught by exactly the rows of its kill list; {len(deciding_rows) - len(unseen)} deciding requirements catch "
        "one."
    )
    yield f"Deciding requirements that catch no named mutant: {', '.join(map(_row_link, unseen)) or 'none'}."
    yield (
        "Requirements that nothing on the wire shows, which decide nothing; the page of each says why: "
        f"{', '.join(map(_row_link, unshown)) or 'none'}."
    )
    verdict_counts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(by_rule.verdicts.items()))
    yield (
        f"Of the [mutants made by rule](generated-mutants.md), a row has failed {by_rule.killed}, as far as they were "
        f"tried; survivors that were judged: {verdict_counts}."
    )


def _kills(explanation: Explanation) -> list[str]:
    """Return the mutants that a row catches: those for which it was named, then those that it sees as well."""
    return [
        *(kill.mutant for kill in explanation.catching_mutants),
        *(kill.mutant for kill, _ in explanation.further_mutants),
    ]


def _row_link(row: str) -> str:
    return f"[{row}](requirements/{row}.md)"


def _table(rows: Iterable[Explanation], by_rule: Mapping[str, int], looks: Mapping[str, int]) -> str:
    lines = [
        "| Requirement | Level | Source | Checks | Mutants that it catches | Made by rule | Looks |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for explanation in rows:
        row, kills = explanation.row, _kills(explanation)
        mutant_names = ", ".join(f"`{name}`" for name in kills[:_MOST_MUTANTS])
        more = f" and {len(kills) - _MOST_MUTANTS} more" if len(kills) > _MOST_MUTANTS else ""
        checks = len(explanation.checks) or ("documented" if row.documented else "none")
        counts = [str(found.get(row.id) or "") for found in (by_rule, looks)]
        cells = [
            _row_link(row.id),
            row.level,
            f"{row.basis}, {row.section}",
            str(checks),
            f"{mutant_names}{more}",
            *counts,
        ]
        lines.append("|" + "".join(f" {cell} |" if cell else " |" for cell in cells))
    return "\n".join(lines)


def build_page() -> str:
    """Return the page as it should be."""
    killed_rows = [rows for stack in STACKS for rows in killed_mutants.load(stack).values()]
    verdicts = Counter(one.verdict for one in judged.load().values())
    by_rule = ByRule(len(killed_rows), Counter(row for rows in killed_rows for row in rows), verdicts)
    return page([explain(row) for row in load()], len(load_kill_lists()), by_rule, sound_looks.load())
