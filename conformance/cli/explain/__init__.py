"""`weldproof explain`: what a requirement is, how it is checked, and what to do about a breach."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from conformance.cli.explain.content import NEEDS, Explanation, company, explanation, quickly, rule_of
from conformance.cli.json_output import print_json
from conformance.cli.suggestion import prefixes, unknown
from conformance.cli.usage import UsageFault
from conformance.engine.catalogue import CheckDescription, load_catalogue
from conformance.ledger import Requirement, load
from conformance.ledger.examples import Example
from conformance.ledger.rules import place
from conformance.ledger.specification import clauses, rests_on

if TYPE_CHECKING:
    from conformance.first_look.x402_rules import Rule


@click.command("explain")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(ids: Sequence[str], as_json: bool) -> None:
    """Describe a requirement, what its checks send and expect, and how to repair a breach.

    ID is a requirement, a prefix (RAIL-WELD), a clause or section of the specification (P-CH-13, 5.5), which stands for
    the requirements that rest on it, or the name of a check. X402 with a number is a demand on any 402, which
    `weldproof check` judges.
    """
    rules = [rule for text in ids for rule in _rules(text)]
    ids = [text for text in ids if not _rules(text)]
    found = [explanation(row) for row in dict.fromkeys(row for text in ids for row in _rows(text))]
    if as_json:
        told = [*map(_as_json, found), *map(_rule_as_json, rules)]
        print_json(told)
    else:
        lines = [*map(_lines, found), *map(_lines_of_rule, rules)]
        click.echo("\n\n".join("\n".join(one) for one in lines))


def _rules(text: str) -> tuple[Rule, ...]:
    """Return the demands on any 402 whose ids start so."""
    start = text.strip().upper()
    if not start.startswith("X402"):
        return ()
    from conformance.first_look.x402_rules import RULES  # noqa: PLC0415 - every other id is explained without

    return tuple(rule for rule in RULES if rule.id.startswith(start))


def _rule_as_json(rule: Rule) -> dict[str, Any]:
    return {name: getattr(rule, name) for name in ("id", "sentence", "level", "source", "fix")}


def _lines_of_rule(rule: Rule) -> Iterator[str]:
    yield click.style(rule.id, bold=True)
    yield _filled(rule.sentence, "  ")
    yield ""
    yield f"  level     {rule.level}: a breach {'fails' if rule.level == 'MUST' else 'warns'}"
    yield _filled(f"source    {rule.source}", "  ")
    yield "  judged    by `weldproof check`, for any 402, without a payment"
    yield _filled(f"Fix: {rule.fix}", "  ")


def _rows(text: str) -> tuple[Requirement, ...]:
    ledger, checks = load(), {check.id: check for check in load_catalogue()}
    name = text.partition("[")[0]
    if name in checks:
        return tuple(ledger[row] for row in checks[name].rows)
    if (clause := clauses().get(text.strip().upper())) is not None:
        resting = tuple(row for row in ledger if clause.id in {one.id for one in rests_on(row.id)})
        if not resting:
            raise UsageFault(f"no requirement rests on {clause.id}; read it in {clause.where}")
        return resting
    try:
        return ledger.select([text])
    except LookupError as fault:
        raise UsageFault(unknown(text, (*prefixes(ledger), *checks), "requirement or check")) from fault


def _as_json(one: Explanation) -> dict[str, Any]:
    described = [{**check.as_json(), "place": place(check.file, check.id)} for check in one.checks]
    mutants = [{"mutant": kill.mutant, "rule": kill.rule, "because": None} for kill in one.shown_by]
    mutants += [{"mutant": kill.mutant, "rule": kill.rule, "because": reason} for kill, reason in one.seen_with]
    return {
        **asdict(one.row),
        "decides": one.row.decides,
        "why": one.why,
        "needs": {code: NEEDS.get(code, code) for code in one.row.needs},
        "clauses": [clause.as_json() for clause in one.clauses],
        "rules": [{"rule": rule, "place": place(*rule.split(":"))} for rule in one.rules],
        "checks": described,
        "example": None if one.example is None else asdict(one.example),
        "mutants": mutants,
    }


def _lines(one: Explanation) -> Iterator[str]:
    row = one.row
    yield click.style(row.id, bold=True)
    yield _filled(row.sentence, "  ")
    yield ""
    if one.why is not None:
        yield _filled(one.why, "  ")
        yield ""
    yield f"  section   {row.section}"
    yield f"  level     {one.level}"
    yield f"  surface   {one.surface}"
    yield f"  needs     {one.needs}"
    for clause in one.clauses:
        yield f"  clause    {clause.id}, {clause.where}"
        yield _filled(clause.says, "            ")
    for rule in one.rules:
        file, _, name = rule.partition(":")
        yield f"  reference {place(file, name)} {name}"
    if one.unshown is not None:
        yield f"\n  {one.unshown}"
    for check in one.checks:
        yield from _check(check)
    if one.example is not None:
        yield from _example(one.example)
    yield from _mutants(one)


def _check(check: CheckDescription) -> Iterator[str]:
    yield f"\n  check {click.style(check.id, bold=True)}{company(check)}"
    yield f"    at {place(check.file, check.id)}"
    yield "\n".join(_filled(part, "    ") for part in check.sentence.split("\n\n"))
    yield _filled(f"Fix: {check.fix}", "    ")
    yield _filled(f"With --quick: {quickly(check)}.", "    ")


def _example(example: Example) -> Iterator[str]:
    yield f"\n  a breach, recorded with the mutant {click.style(example.mutant, bold=True)}"
    yield _filled(f"Broken rule: {rule_of(example.mutant)}.", "    ")
    if example.case:
        yield _filled(f"Tried: {example.case}", "    ")
    yield _filled(f"Expected: {example.expected}", "    ")
    if example.found is not None:
        yield _filled(f"Found: {example.found}", "    ")
    for heading, text in example.exchange:
        yield f"    {heading}"
        yield textwrap.indent(text, "      ")


def _mutants(one: Explanation) -> Iterator[str]:
    if one.shown_by or one.seen_with:
        yield "\n  mutants that show it"
    for kill in one.shown_by:
        yield _filled(f"{kill.mutant}: {kill.rule}", "    ")
        if kill.edits:
            yield textwrap.indent(kill.diff, "      ")
    for kill, reason in one.seen_with:
        yield _filled(f"{kill.mutant}: {kill.rule}. Also caught here: {reason}", "    ")


def _filled(text: str, indent: str) -> str:
    return textwrap.fill(" ".join(text.split()), 100, initial_indent=indent, subsequent_indent=indent)
