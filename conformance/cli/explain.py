"""`weldproof explain`: what a requirement is, how it is checked, and what to do about a breach."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import click
import orjson

from conformance.cli.suggestion import prefixes, unknown
from conformance.cli.usage import UsageFault
from conformance.engine.catalogue import Described, catalogue
from conformance.ledger import Requirement, load
from conformance.ledger.rules import place, rules_of
from conformance.ledger.specification import Clause, cited, rests_on

NEEDS: Final[Mapping[str, str]] = {
    "V": "test vectors only, no server",
    "B": "the server's address",
    "K": "a receipt signed by the platform key",
    "T": "a tenant's API key and id",
    "T2": "two tenants",
    "A": "the control plane's admin token",
    "C": "a chain node and a funded payer",
    "W": "a webhook receiver the server can reach",
    "S": "control of time, load or the chain's availability",
    "P": "access to the server's process, environment or files",
    "R": "a webhook receiver under test",
    "D": "reading documents",
}


@click.command("explain")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(ids: Sequence[str], as_json: bool) -> None:
    """Say what a requirement is, what its checks send and expect, and how a breach is repaired.

    ID is a requirement, the beginning of some (RAIL-WELD), or the name of a check.
    """
    rows = tuple(dict.fromkeys(row for text in ids for row in _rows(text)))
    checks = {row.id: tuple(check for check in catalogue() if row.id in check.rows) for row in rows}
    if as_json:
        value = [_as_json(row, checks[row.id]) for row in rows]
        click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))
    else:
        click.echo("\n\n".join("\n".join(_lines(row, checks[row.id])) for row in rows))


def _rows(text: str) -> tuple[Requirement, ...]:
    ledger, checks = load(), {check.id: check for check in catalogue()}
    name = text.partition("[")[0]
    if name in checks:
        return tuple(ledger[row] for row in checks[name].rows)
    try:
        return ledger.select([text])
    except LookupError as fault:
        raise UsageFault(unknown(text, (*prefixes(ledger), *checks), "requirement or check")) from fault


def _as_json(row: Requirement, checks: Sequence[Described]) -> dict[str, Any]:
    needs = {code: NEEDS.get(code, code) for code in row.needs}
    found = [clause.as_json() for clause in _clauses(row, checks)]
    described = [{**check.as_json(), "place": place(check.file, check.id)} for check in checks]
    rules = [{"rule": rule, "place": place(*rule.split(":"))} for rule in rules_of(row.id)]
    told = {"needs": needs, "clauses": found, "rules": rules, "checks": described}
    return {**asdict(row), "decides": row.decides, **told}


def _clauses(row: Requirement, checks: Sequence[Described]) -> tuple[Clause, ...]:
    """Return what a row rests on in the specification, and what its sentence and its checks cite beside that."""
    texts = (row.sentence, *(f"{check.sentence}\n{check.fix}" for check in checks))
    named = (clause for text in texts for clause in cited(text))
    return tuple(dict.fromkeys((*rests_on(row.id), *named)))


def _lines(row: Requirement, checks: Sequence[Described]) -> Iterator[str]:
    yield click.style(row.id, bold=True)
    yield _filled(row.sentence, "  ")
    yield ""
    yield f"  section   {row.section}"
    yield f"  level     {row.level}, {row.basis} in the interface; a breach {'fails' if row.decides else 'warns'}"
    yield f"  surface   {row.surface}{_only(row)}"
    yield f"  needs     {', '.join(NEEDS.get(code, code) for code in row.needs) or 'nothing'}"
    for clause in _clauses(row, checks):
        yield f"  clause    {clause.id}, {clause.where}"
        yield _filled(clause.says, "            ")
    for rule in rules_of(row.id):
        file, _, name = rule.partition(":")
        yield f"  reference {place(file, name)} {name}"
    if row.documented is not None:
        yield f"\n  Nothing on the wire shows it: {row.documented}"
    elif not checks:
        yield "\n  This version of the suite has no check for it yet; where it is claimed it is inconclusive."
    for check in checks:
        yield from _check(check)


def _only(row: Requirement) -> str:
    only = [text for text in (row.lane and f"lane {row.lane}", row.option and f"option {row.option}") if text]
    return f", only where claimed: {', '.join(only)}" if only else ""


_WITH: Final[Mapping[str | bool, str]] = {
    False: "",
    True: ", alone with others that move the clock",
    "chain": ", alone on its lane",
    "surface": ", alone on its surface",
    "limits": ", on limits of its own",
    "all": ", alone and last",
}


def _check(check: Described) -> Iterator[str]:
    once = " once for each claimed lane" if check.lane == "each" else f" lane {check.lane}" if check.lane else ""
    yield f"\n  check {click.style(check.id, bold=True)}{once}{_WITH[check.exclusive]}"
    yield f"    at {place(check.file, check.id)}"
    yield "\n".join(_filled(part, "    ") for part in check.sentence.split("\n\n"))
    yield _filled(f"Fix: {check.fix}", "    ")
    yield _filled(f"With --quick: {_quickly(check)}.", "    ")


def _quickly(check: Described) -> str:
    """Return what `run --quick` makes of a check, in words."""
    lane = "on one claimed lane, drawn from the seed" if check.lane == "each" else ""
    ways = {
        "whole": lane or "tried whole",
        "sample": f"a sample{lane and f' {lane}'}: {check.quick.words}",
        "one of several": f"one of {check.quick.words}, drawn from the seed",
        "left out": f"left out, since it {check.quick.words}",
    }
    return ways[check.quick.way]


def _filled(text: str, indent: str) -> str:
    return textwrap.fill(" ".join(text.split()), 100, initial_indent=indent, subsequent_indent=indent)
