"""`weldproof explain`: describes a requirement, its checks, and the repair of a breach."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from conformance.cli.explain.content import NEEDS, Explanation, describe_company, describe_quick_run, explain, rule_of
from conformance.cli.json_output import print_json
from conformance.cli.suggestion import describe_unknown, prefixes
from conformance.cli.usage import UsageFault
from conformance.engine.catalogue import CheckDescription, load_catalogue
from conformance.ledger import Requirement, has_prefix, load
from conformance.ledger.deciding_function_lines import place
from conformance.ledger.example_breaches import Example
from conformance.ledger.sentence_ledger import Entry, entries, sentences, sentences_of, tests_of
from conformance.ledger.specification import clauses, rests_on

if TYPE_CHECKING:
    from conformance.first_look.x402_rules import Rule
    from conformance.ledger.clause import Sentence


@click.command("explain")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(ids: Sequence[str], as_json: bool) -> None:
    """Describe a requirement, what its checks send and expect, and how to repair a breach.

    ID is a requirement, a prefix (RAIL-WELD), or the name of a check. A clause or section of the specification
    (P-CH-13, 5.5) selects its sentences and the requirements that rest on it, and a sentence (P-CH-13b) itself. X402
    with a number is a demand on any 402, which `weldproof check` judges.
    """
    rules = [rule for text in ids for rule in _rules(text)]
    described = [sentence for text in ids for sentence in _sentences(text)]
    ids = [text for text in ids if not _rules(text) and not _is_only_text(text)]
    explanations = [explain(row) for row in dict.fromkeys(row for text in ids for row in _rows(text))]
    if as_json:
        members = [*map(_sentence_as_json, described), *map(_as_json, explanations), *map(_rule_as_json, rules)]
        print_json(members)
    else:
        lines = [*map(_sentence_lines, described), *map(_explanation_lines, explanations), *map(_rule_lines, rules)]
        click.echo("\n\n".join("\n".join(one) for one in lines))


def _sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a section or clause, or the sentence that a text names; empty if it names none."""
    # Ids of clauses are in capitals, and letters of sentences are not.
    name = text.strip().upper()
    if of_place := sentences_of(name):
        return of_place
    return tuple(one for one in sentences().values() if one.id.upper() == name)


def _is_only_text(text: str) -> bool:
    """Return whether a text names sentences and no requirement rests on them as a whole."""
    clause = clauses().get(text.strip().upper())
    if clause is None:
        return bool(_sentences(text))
    return bool(_sentences(text)) and not any(clause.id in {one.id for one in rests_on(row.id)} for row in load())


def _sentence_as_json(sentence: Sentence) -> dict[str, Any]:
    entry = entries().get(sentence.id)
    judgement = {} if entry is None else {**asdict(entry), "tests": [*entry.tests, *tests_of(sentence.place)]}
    return {**asdict(sentence), **judgement}


def _sentence_lines(sentence: Sentence) -> Iterator[str]:
    yield click.style(sentence.id, bold=True) + f"  {sentence.level}"
    yield _wrap(sentence.words, "  ")
    if sentence.basis is not None:
        yield _format_field("basis", sentence.basis)
    entry = entries().get(sentence.id)
    if entry is None:
        yield "  its chapter is not mapped to requirements yet"
        return
    yield from _entry_lines(entry)
    if not entry.explains and (tests := (*entry.tests, *tests_of(sentence.place))):
        yield _format_field("tests", ", ".join(dict.fromkeys(tests)))


def _entry_lines(entry: Entry) -> Iterator[str]:
    if entry.explains:
        yield "  explains, and says nothing that a service does"
    if entry.rows:
        yield _format_field("judged by", ", ".join(entry.rows))
    if entry.gap is not None:
        yield _format_field("gap", entry.gap)
    if entry.reason is not None:
        yield _format_field("not shown", entry.reason)


def _rules(text: str) -> tuple[Rule, ...]:
    """Return the demands on any 402 whose ids start with a text."""
    start = text.strip().upper()
    # Rules for any 402 are not in the ledger, so their ids are looked up separately.
    if not start.startswith("X402"):
        return ()
    from conformance.first_look.x402_rules import RULES  # noqa: PLC0415 - not needed for other ids

    return tuple(rule for rule in RULES if has_prefix(rule.id, start))


def _rule_as_json(rule: Rule) -> dict[str, Any]:
    return {name: getattr(rule, name) for name in ("id", "sentence", "level", "source", "fix")}


def _rule_lines(rule: Rule) -> Iterator[str]:
    yield click.style(rule.id, bold=True)
    yield _wrap(rule.sentence, "  ")
    yield ""
    yield f"  level     {rule.level}: a breach {'fails' if rule.level == 'MUST' else 'warns'}"
    yield _wrap(f"source    {rule.source}", "  ")
    yield "  judged    by `weldproof check`, for any 402, without a payment"
    yield _wrap(f"Fix: {rule.fix}", "  ")


def _rows(text: str) -> tuple[Requirement, ...]:
    ledger, checks = load(), {check.id: check for check in load_catalogue()}
    # A check that runs once for each lane has the lane in brackets: `check[base]`.
    name = text.partition("[")[0]
    if name in checks:
        return tuple(ledger[row] for row in checks[name].rows)
    if (clause := clauses().get(text.strip().upper())) is not None:
        rows = tuple(row for row in ledger if clause.id in {one.id for one in rests_on(row.id)})
        if not rows:
            raise UsageFault(f"no requirement rests on {clause.id}; read it in {clause.where}")
        return rows
    try:
        return ledger.select([text])
    except LookupError as fault:
        raise UsageFault(describe_unknown(text, (*prefixes(ledger), *checks), "requirement or check")) from fault


def _as_json(item_explained: Explanation) -> dict[str, Any]:
    check_members = [{**check.as_json(), "place": place(check.file, check.id)} for check in item_explained.checks]
    mutants = [{"mutant": kill.mutant, "rule": kill.rule, "because": None} for kill in item_explained.catching_mutants]
    mutants += [
        {"mutant": kill.mutant, "rule": kill.rule, "because": reason} for kill, reason in item_explained.further_mutants
    ]
    return {
        **asdict(item_explained.row),
        "decides": item_explained.row.decides,
        "why": item_explained.why,
        "sentences": [*item_explained.sentences],
        "needs": {code: NEEDS.get(code, code) for code in item_explained.row.needs},
        "clauses": [clause.as_json() for clause in item_explained.clauses],
        "rules": [{"rule": rule, "place": place(*rule.split(":"))} for rule in item_explained.rules],
        "checks": check_members,
        "example": None if item_explained.example is None else asdict(item_explained.example),
        "mutants": mutants,
    }


def _explanation_lines(explained_row: Explanation) -> Iterator[str]:
    row = explained_row.row
    yield click.style(row.id, bold=True)
    yield _wrap(row.sentence, "  ")
    yield ""
    if explained_row.why is not None:
        yield _wrap(explained_row.why, "  ")
        yield ""
    yield f"  section   {row.section}"
    yield f"  level     {explained_row.level}"
    yield f"  surface   {explained_row.surface}"
    yield f"  needs     {explained_row.needs}"
    if explained_row.sentences:
        yield _format_field("judges", ", ".join(explained_row.sentences))
    for clause in explained_row.clauses:
        yield f"  clause    {clause.id}, {clause.where}"
        yield _wrap(clause.says, "            ")
    for rule in explained_row.rules:
        file, _, name = rule.partition(":")
        yield f"  reference {place(file, name)} {name}"
    if explained_row.reason_without_check is not None:
        yield f"\n  {explained_row.reason_without_check}"
    for check in explained_row.checks:
        yield from _check_lines(check)
    if explained_row.example is not None:
        yield from _example_lines(explained_row.example)
    yield from _mutant_lines(explained_row)


def _check_lines(check: CheckDescription) -> Iterator[str]:
    yield f"\n  check {click.style(check.id, bold=True)}{describe_company(check)}"
    yield f"    at {place(check.file, check.id)}"
    # A list stays a list: each of its items begins a line.
    yield "\n".join(_wrap(part, "    ") for part in re.split(r"\n\n|\n(?=\* )", check.sentence))
    yield _wrap(f"Fix: {check.fix}", "    ")
    yield _wrap(f"With --quick: {describe_quick_run(check)}.", "    ")


def _example_lines(example: Example) -> Iterator[str]:
    yield f"\n  a recorded breach of the mutant {click.style(example.mutant, bold=True)}"
    yield _wrap(f"Broken rule: {rule_of(example.mutant)}.", "    ")
    if example.case:
        yield _wrap(f"Tried: {example.case}", "    ")
    yield _wrap(f"Expected: {example.expected}", "    ")
    if example.found is not None:
        yield _wrap(f"Found: {example.found}", "    ")
    for heading, text in example.exchange:
        yield f"    {heading}"
        yield textwrap.indent(text, "      ")


def _mutant_lines(explained_row: Explanation) -> Iterator[str]:
    if explained_row.catching_mutants or explained_row.further_mutants:
        yield "\n  mutants that show it"
    for kill in explained_row.catching_mutants:
        yield _wrap(f"{kill.mutant}: {kill.rule}", "    ")
        if kill.edits:
            yield textwrap.indent(kill.diff, "      ")
    for kill, reason in explained_row.further_mutants:
        yield _wrap(f"{kill.mutant}: {kill.rule}. Also caught here: {reason}", "    ")


def _format_field(label: str, text: str) -> str:
    return textwrap.fill(text, 100, initial_indent=f"  {label:10}", subsequent_indent=" " * 12)


def _wrap(text: str, indent: str) -> str:
    return textwrap.fill(" ".join(text.split()), 100, initial_indent=indent, subsequent_indent=indent)
