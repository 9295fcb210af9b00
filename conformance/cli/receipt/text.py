"""The text output of `weldproof receipt`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from conformance.oracles.receipt_bindings import Outcome
from conformance.receipts.offline.inspecting import NOTHING_VERIFIED, Inspection, Line
from conformance.receipts.offline.value_wording import value_text
from conformance.receipts.offline.verifying import Verification, describe_binding
from conformance.text.json_safe import json_safe
from conformance.text.target_text_escaping import one_line

_COLOURS = {"pass": "green", "fail": "red"}
_OUTCOMES = {Outcome.HOLDS: "green", Outcome.OTHER_RECIPE: "yellow", Outcome.DIFFERS: "red", Outcome.ABSENT: "red"}
_KEY_CHOICES = {"kid": ", chosen by kid", "first": ", the first one, because no key has the header's kid"}
_LONGEST = 1_000


def show_inspections(inspections: Sequence[Inspection]) -> None:
    """Print explanations of receipts, with a warning before and after that nothing is verified."""
    click.secho(NOTHING_VERIFIED, fg="yellow", bold=True)
    for inspection in inspections:
        click.echo()
        _show_inspection(inspection)
    click.echo()
    click.secho("Nothing above is verified.", fg="yellow", bold=True)


def show_verifications(inspections: Sequence[Inspection], verifications: Sequence[Verification]) -> None:
    """Print for each receipt whether it is valid, what was checked, and each fault."""
    for number, (inspection, verification) in enumerate(zip(inspections, verifications, strict=True)):
        if number:
            click.echo()
        _show_verification(inspection, verification)


def _show_inspection(inspection: Inspection) -> None:
    place = inspection.found.place
    click.secho(f"{one_line(place)}: {inspection.kind_words}" if place else inspection.kind_words, bold=True)
    sizes = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in inspection.sizes.items())
    canonical = {True: "canonical (RFC 8785)", False: "NOT canonical", None: "no readable payload"}
    click.echo(f"{canonical[inspection.canonical]}; {sizes}")
    for fault in inspection.faults:
        click.echo(f"{click.style('wrong', fg='red', bold=True)}  {one_line(fault, _LONGEST)}")
    _show_members("protected header", inspection.header)
    _show_members("claims", inspection.claims)


def _show_members(title: str, lines: Sequence[Line]) -> None:
    if not lines:
        return
    click.echo(f"\n{click.style(title, bold=True)}")
    for line in lines:
        value = one_line(value_text(json_safe(line.value)), _LONGEST)
        click.echo(f"  {click.style(one_line(line.name), bold=True)} = {value}")
        clause = f" ({line.clause})" if line.clause is not None else ""
        click.echo(f"      {one_line(line.sentence, _LONGEST)}{click.style(clause, dim=True)}")


def _show_verification(inspection: Inspection, verification: Verification) -> None:
    word = click.style("verified", fg="green", bold=True)
    if not verification.is_verified:
        word = click.style("NOT VERIFIED", fg="red", bold=True)
    place = f"{one_line(verification.found.place)}: " if verification.found.place else ""
    click.echo(f"{place}{word}  {inspection.kind_words}")
    key_choice = _KEY_CHOICES.get(verification.key_chosen_by or "", "")
    click.echo(f"key: {one_line(verification.keys.origin)}{key_choice}")
    for number, (code, result, words) in enumerate(verification.steps, start=1):
        # The code names a failure, so next to "pass" it would look like one.
        detail = f"{code}: requirement: {words}" if result == "fail" else words
        _show_check(f"step {number}", result, _COLOURS.get(result), detail)
    issuer = verification.issuer
    _show_check("issuer", issuer.result, _COLOURS.get(issuer.result), issuer.why)
    for hash_binding in verification.bindings:
        _show_check(
            hash_binding.claim,
            hash_binding.outcome.value,
            _OUTCOMES[hash_binding.outcome],
            describe_binding(hash_binding),
        )
    if not verification.is_verified:
        code = click.style(str(verification.error_code), bold=True)
        click.echo(f"\n{code}: {one_line(str(verification.error_message), _LONGEST)}")
    for hint in verification.hints:
        click.echo(f"hint: {one_line(hint, _LONGEST)}")


def _show_check(name: str, result: str, colour: str | None, words: str) -> None:
    result_text = click.style(f"{result.replace('_', ' '):13}", fg=colour)
    click.echo(f"{name:26}{result_text}{one_line(words, _LONGEST)}")
