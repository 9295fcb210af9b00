"""The page of a requirement and the index of all, as Markdown: the text of `weldproof explain`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from conformance.cli.explain.content import Explanation, describe_company, describe_quick_run, rule_of
from conformance.engine.catalogue import CheckDescription
from conformance.ledger.clause import Clause
from conformance.ledger.example_breaches import Example
from conformance.report.conclusion import SURFACES
from conformance.selftest.kill_lists import KillList

FOLDER: Final = "requirements"
_CODE: Final = re.compile(r"(`[^`]*`)")
_SPECIAL: Final = re.compile(r"(?<!\w)_|_(?!\w)|[*<|\\]|\[(?=[^\]]*\]\()")
# What a code block of a page is fenced with: no recorded body has that many.
_FENCE: Final = "~~~~"


def pages(rows: Sequence[Explanation]) -> Mapping[str, str]:
    """Return every page by its place on the site: one a requirement, and the index."""
    return {f"{FOLDER}/index.md": _index(rows), **{f"{FOLDER}/{one.row.id}.md": _page(one) for one in rows}}


def prose(text: str) -> str:
    """Return a text of the ledger as Markdown that shows it letter by letter, code in backticks."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(part if place % 2 else _SPECIAL.sub(r"\\\g<0>", part) for place, part in enumerate(parts))


def _page(explanation: Explanation) -> str:
    parts = [
        f"# {explanation.row.id}",
        f"**{prose(explanation.row.sentence)}**",
        _facts(explanation),
        *(("## Why it matters", prose(explanation.why)) if explanation.why is not None else ()),
        *_clauses(explanation.clauses),
        "## What is sent",
        *([prose(explanation.reason_without_check)] if explanation.reason_without_check else []),
        *(part for check in explanation.checks for part in _check(check)),
        *(_example(explanation.example) if explanation.example is not None else ()),
        *_changes(explanation),
        *_mutants(explanation),
        _page_ending(explanation.row.id),
    ]
    return "\n\n".join(parts) + "\n"


def _page_ending(row: str) -> str:
    command = f"`weldproof explain {row}`"
    return (
        f"{command} prints this page, with the lines of the checks and of the reference. [All requirements](index.md)."
    )


def _facts(explanation: Explanation) -> str:
    facts = {
        "Level": explanation.level,
        "Surface": explanation.surface,
        "Section": explanation.row.section,
        "Needs": explanation.needs,
    }
    return _table(("", ""), ((name, prose(text)) for name, text in facts.items()))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "\n".join(f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in lines)


def _clauses(clauses: Sequence[Clause]) -> Iterator[str]:
    if clauses:
        yield "## What the specification says"
        yield "\n".join(
            f"- [{clause.id}](../spec/{clause.page}#{clause.anchor}): {prose(clause.says)}" for clause in clauses
        )


def _check(check: CheckDescription) -> Iterator[str]:
    yield f"### `{check.id}`"
    yield from (prose(part) for part in check.sentence.split("\n\n"))
    runs = describe_company(check).lstrip(" ,")
    sentences = [f"Runs {runs}."] if runs else []
    yield " ".join(
        [*sentences, f"With `--quick`: {prose(describe_quick_run(check))}.", f"It stands in `{check.file}`."]
    )


def _example(example: Example) -> Iterator[str]:
    yield "## A breach on the wire"
    yield (
        f"Recorded of the mutant `{example.mutant}`, which drops one rule: {prose(rule_of(example.mutant))}. Secrets "
        "and live values stand by their names, and long values are cut."
    )
    if example.case:
        yield f"Tried: {prose(example.case)}"
    yield f"Expected: {prose(example.expected)}"
    if example.found is not None:
        yield f"Found: {prose(example.found)}"
    for heading, text in example.exchange:
        yield f"{heading[:1].upper()}{heading[1:]}:"
        yield f"{_FENCE}text\n{text}\n{_FENCE}"


def _changes(explanation: Explanation) -> Iterator[str]:
    fixes = tuple(dict.fromkeys(check.fix for check in explanation.checks))
    if fixes or explanation.rules:
        yield "## What to change"
    if fixes:
        yield "\n".join(f"- {prose(fix)}" for fix in fixes) if len(fixes) > 1 else prose(fixes[0])
    if explanation.rules:
        places = (rule.partition(":") for rule in explanation.rules)
        yield "In the reference it is decided by:"
        yield "\n".join(f"- `{name}` in `{file}`" for file, _, name in places)


def _mutants(explanation: Explanation) -> Iterator[str]:
    if not (explanation.catching_mutants or explanation.further_mutants):
        return
    yield "## Mutants that show it"
    command = f"`weldproof run {explanation.row.id} --mutant NAME`"
    yield f"Each is the reference with one rule dropped: {command} shows the breach."
    mutant_lines = [f"- `{kill.mutant}`: {prose(kill.rule)}{_diff(kill)}" for kill in explanation.catching_mutants]
    also = ((kill, prose(reason)) for kill, reason in explanation.further_mutants)
    further = [f"- `{kill.mutant}`: {prose(kill.rule)}. It is seen here, too: {reason}" for kill, reason in also]
    yield "\n".join([*mutant_lines, *further])


def _diff(kill: KillList) -> str:
    """Return the edits of a mutant as a code block of its list item; nothing if it is Python."""
    return "\n\n" + textwrap.indent(f"{_FENCE}diff\n{kill.diff}\n{_FENCE}", "    ") if kill.edits else ""


def _index(rows: Sequence[Explanation]) -> str:
    surfaces = tuple(dict.fromkeys(one.row.surface for one in rows))
    decide = sum(one.row.decides for one in rows)
    example_count = sum(one.example is not None for one in rows)
    parts = [
        "# Requirements",
        (
            f"{len(rows)} requirements, each on a page of its own: why it matters, what the specification says, what "
            "is sent, what to change, and which mutants show it. "
            f"{decide} decide a run's verdict, the rest warn. {example_count} pages show a breach on the wire, "
            "recorded of a mutant. `weldproof explain ID` prints the same."
        ),
        *(part for name in surfaces for part in _surface(name, [one for one in rows if one.row.surface == name])),
    ]
    return "\n\n".join(parts) + "\n"


def _surface(name: str, rows: Sequence[Explanation]) -> Iterator[str]:
    yield f"## {SURFACES.get(name, name)}"
    yield _table(
        ("Requirement", "Level", "Sentence", "Mutants"),
        (
            (
                f"[{explanation.row.id}]({explanation.row.id}.md)",
                explanation.row.level,
                prose(explanation.row.sentence),
                str(len(explanation.catching_mutants) + len(explanation.further_mutants)),
            )
            for explanation in rows
        ),
    )
