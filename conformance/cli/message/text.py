"""The text output of `weldproof message`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from conformance.oracles.message_signatures.answer_members import parameters_as_json
from conformance.oracles.message_signatures.digests import DigestReport
from conformance.oracles.message_signatures.judgement import Judgement
from conformance.text.target_text_escaping import one_line

_WORDS = {True: ("valid", "green"), False: ("not valid", "red"), None: ("not verified", "yellow")}
_COLOURS = {"pass": "green", "fail": "red", "skipped": None}


def show_verdict(judgement: Judgement, remarks: Sequence[str]) -> None:
    """Print whether a message is valid, what was checked, and each fault."""
    _headline(judgement)
    for remark in remarks:
        click.echo(f"note       {one_line(remark, 400)}")
    for name, outcome in judgement.outcomes.items():
        click.echo(f"{name.replace('_', ' '):15}{click.style(outcome, fg=_COLOURS[outcome])}")
    for fault in judgement.faults:
        click.echo(f"\n{click.style(str(fault.code), bold=True)} ({fault.code.step}): {one_line(fault.text, 400)}")


def show_explanation(judgement: Judgement, remarks: Sequence[str], notes: Sequence[str]) -> None:
    """Print the parts of a signature, then the corrections."""
    show_verdict(judgement, remarks)
    if judgement.signature is not None and judgement.base is not None:
        signature_input = judgement.signature.coverage
        _title("covered components, in signed order")
        for component in signature_input.components:
            click.echo(f"  {_visible(str(component))}")
        _title("signature parameters, in signed order")
        for name, value in parameters_as_json(dict(signature_input.parameters)).items():
            click.echo(f"  {_visible(f'{name}: {value}')}")
        is_complete = judgement.base.text is not None
        _title(
            "signature base, lines separated by a line feed"
            if is_complete
            else "signature base, as far as it can be computed"
        )
        for line in judgement.base.lines:
            click.echo(f"  {_visible(str(line))}")
    if judgement.digest is not None:
        _digest(judgement.digest)
    if notes:
        _title("what to do")
        for note in notes:
            click.echo(f"  * {_visible(note)}")


def show_signing(members: Mapping[str, Any]) -> None:
    """Print on standard error what was signed and how to verify it."""
    lines = [f"signed {members['label']} with {members['algorithm']}"]
    if members["ephemeral"]:
        lines.append("the key was generated for this message and deleted; do not trust it")
    if "did_key" in members:
        lines.append(f"verify with --did-key {members['did_key']}")
        lines.append(f"        or --public-key-hex {members['public_key_hex']}")
    lines.append("signature base:")
    lines += [f"  {_visible(line)}" for line in members["signature_base"].split("\n")]
    click.echo("\n".join(lines), err=True)


def _headline(judgement: Judgement) -> None:
    word, colour = _WORDS[judgement.is_valid]
    about = ""
    if judgement.signature is not None:
        algorithm = f", {judgement.algorithm}" if judgement.algorithm is not None else ""
        about = f"  {judgement.signature.label}{algorithm}"
    click.echo(click.style(word, fg=colour, bold=True) + about)


def _digest(report: DigestReport) -> None:
    _title("Content-Digest")
    click.echo(
        f"  {'covered' if report.is_covered else 'not covered' if report.is_present else 'the message has none'}"
    )
    if report.field_digest is not None:
        click.echo(f"  {report.algorithm} given     {report.field_digest}")
    click.echo(f"  {report.algorithm} computed  {report.content_digest}")


def _title(text: str) -> None:
    click.echo(f"\n{click.style(text, bold=True)}")


def _visible(text: str) -> str:
    """Return a line with control characters as escapes, which a terminal would obey."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )
