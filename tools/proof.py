"""Write docs/proof.md, what shows of each requirement that the suite can see it broken: `python -m tools.proof`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from conformance.cli.explanation import Explanation, explanation
from conformance.ledger import load
from conformance.report.conclusion import SURFACES
from conformance.selftest.kill_lists import load_kill_lists
from tools.mutation import judged

PAGE: Final = Path(__file__).parents[1] / "docs" / "proof.md"
_SHOWN: Final = 3
_HEAD: Final = (
    "What shows that the suite sees each requirement broken. Made from the ledger, the checks, the kill lists and the "
    "judged survivors by `python -m tools.proof`; a test compares it. `weldproof selftest NAME` runs a mutant again."
)


def page(rows: Sequence[Explanation], named: int, verdicts: Mapping[str, int]) -> str:
    """Return the page.

    Args:
        rows: Every requirement with what is known of it.
        named: Mutants that have a kill list.
        verdicts: How many survivors among the mutants made by rule were judged as what.
    """
    parts = [
        "# Proof",
        _HEAD,
        *_totals(rows, named, verdicts),
    ]
    for surface in dict.fromkeys(one.row.surface for one in rows):
        parts += [f"## {SURFACES.get(surface, surface)}", _table([one for one in rows if one.row.surface == surface])]
    return "\n\n".join(parts) + "\n"


def _totals(rows: Sequence[Explanation], named: int, verdicts: Mapping[str, int]) -> Iterator[str]:
    unshown = [one.row.id for one in rows if one.row.documented and not one.checks]
    deciding = [one for one in rows if one.row.decides and one.row.id not in unshown]
    unseen = [one.row.id for one in deciding if not _kills(one)]
    yield (
        f"{len(rows)} requirements, of which {len(deciding)} decide a verdict. {named} named mutants, each caught by "
        f"exactly the rows of its kill list; {len(deciding) - len(unseen)} deciding requirements catch one."
    )
    yield f"Deciding requirements that catch no named mutant: {', '.join(map(_linked, unseen)) or 'none'}."
    yield (
        "Requirements that nothing on the wire shows, which decide nothing; the page of each says why: "
        f"{', '.join(map(_linked, unshown)) or 'none'}."
    )
    counted = ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items()))
    yield f"Survivors among the [mutants made by rule](generated-mutants.md), as far as they were judged: {counted}."


def _kills(one: Explanation) -> list[str]:
    """Return the mutants that a row catches: those for which it was named, then those that it sees as well."""
    return [*(kill.mutant for kill in one.shown_by), *(kill.mutant for kill, _ in one.seen_with)]


def _linked(row: str) -> str:
    return f"[{row}](requirements/{row}.md)"


def _table(rows: Iterable[Explanation]) -> str:
    lines = ["| Requirement | Level | Source | Checks | Mutants that it catches |", "| --- | --- | --- | --- | --- |"]
    for one in rows:
        kills = _kills(one)
        shown = ", ".join(f"`{name}`" for name in kills[:_SHOWN])
        more = f" and {len(kills) - _SHOWN} more" if len(kills) > _SHOWN else ""
        source = f"{one.row.basis}, {one.row.section}"
        checks = len(one.checks) or ("documented" if one.row.documented else "none")
        lines.append(f"| {_linked(one.row.id)} | {one.row.level} | {source} | {checks} | {shown}{more} |")
    return "\n".join(line.replace("|  |", "| |") for line in lines)


def made() -> str:
    """Return the page as it should be."""
    verdicts = Counter(one.verdict for one in judged.load().values())
    return page([explanation(row) for row in load()], len(load_kill_lists()), verdicts)


def main() -> int:
    """Write it."""
    PAGE.write_text(made(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
