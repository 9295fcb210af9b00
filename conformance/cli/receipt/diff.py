"""`weldproof receipt diff`: two receipts, or the receipts of two documents, claim by claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from conformance.cli.receipt.input import receipts
from conformance.cli.usage import UsageFault
from conformance.outcome import Exit
from conformance.receipts.offline.comparing import Circumstances, compare, members
from conformance.receipts.offline.comparison_rules import TITLES
from conformance.receipts.offline.pairing import Pairs, Placed, paired, placed
from conformance.report import html, json
from conformance.report.side_by_side import EXPECTED, MATTERS, SAME, ComparedClaim, Side, SideBySide
from conformance.text.json_safe import json_safe
from conformance.text.untrusted import one_line, show_shortened

_COLOURS: Final = {SAME: None, EXPECTED: "cyan", MATTERS: "yellow"}
_LONGEST: Final = 4_000


@click.command("diff")
@click.argument("left", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.argument("right", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.option(
    "--same-payment", is_flag=True, help="Both receipts are for one payment, so that its members must be equal."
)
@click.option(
    "--request-recipes",
    nargs=2,
    metavar="LEFT RIGHT",
    help="Hash recipe of the request on each side, such as jcs-envelope raw-body.",
)
@click.option("--all", "everything", is_flag=True, help="Also show equal claims.")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a page with both receipts side by side.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.pass_context
def command(
    ctx: click.Context,
    left: Path,
    right: Path,
    same_payment: bool,
    request_recipes: tuple[str, str] | None,
    everything: bool,
    page: Path | None,
    as_json: bool,
) -> None:
    """Compare the claims of two receipts of the same call: same, expected to differ, or a difference that matters.

    LEFT and RIGHT are files; one of them may be - for standard input. Each contains a compact JWS, or a JSON document
    with receipts, which are matched by kind and place. No signature is verified; `weldproof receipt verify` does that.
    Two different signatures of the same bytes matter, because one of them is invalid.

    Exit codes: 0 no difference that matters, 1 at least one, 2 usage.
    """
    names = [str(left), str(right)]
    if names == ["-", "-"]:
        raise UsageFault("only one of the two can come from standard input")
    found = paired(*(placed(receipts(side, None)) for side in (left, right)))
    if not found.both:
        raise UsageFault("; ".join(_alone(side, one) for side, one in _lonely(found)))
    known = Circumstances("one" if same_payment else "unknown", request_recipes or None)
    pairs = [_pair(names, *both, known) for both in found.both]
    alone = [_alone(side, one) for side, one in _lonely(found)]
    differing = sum(len(pair.mattering) for pair in pairs) + len(alone)
    if page is not None:
        _write(page, names, pairs, alone, differing)
    if as_json:
        click.echo(json.encode(json_safe(_document(names, pairs, found, differing))), nl=False)
    else:
        _show(pairs, alone, differing, everything=everything)
    if page is not None and not as_json:
        click.echo(f"written    {page}")
    ctx.exit(Exit.FAILED if differing else Exit.PASSED)


def _pair(names: Sequence[str], left: Placed, right: Placed, known: Circumstances) -> SideBySide:
    if left.receipt is None or right.receipt is None:  # pairs are made of what can be read
        raise UsageFault("a receipt cannot be read")
    compared = compare(left.receipt, right.receipt, known)
    call = " beside ".join(dict.fromkeys(TITLES[one.kind] for one in (left.receipt, right.receipt)))
    sides = [
        Side(name, place=one.place or None, receipt=one.receipt.text)
        for name, one in zip(names, (left, right), strict=True)
        if one.receipt is not None
    ]
    return SideBySide(
        call,
        None,
        sides[0],
        sides[1],
        None,
        compared.grade.value,
        tuple(ComparedClaim(**one) for one in members(compared)),
    )


def _lonely(found: Pairs) -> list[tuple[str, Placed]]:
    return [("left", one) for one in found.left] + [("right", one) for one in found.right]


def _alone(side: str, one: Placed) -> str:
    where = f" at {one.place}" if one.place else ""
    if one.receipt is None:
        return f"the {side} receipt{where} cannot be read: {one.fault}"
    return f"only the {side} document has a {TITLES[one.receipt.kind]}{where}"


def _document(names: Sequence[str], pairs: Sequence[SideBySide], found: Pairs, differing: int) -> dict[str, Any]:
    alone = [
        {"side": side, "place": one.place, "kind": one.receipt and one.receipt.kind, "fault": one.fault}
        for side, one in _lonely(found)
    ]
    compared = [
        {
            "receipt": pair.call,
            "left": pair.left.place,
            "right": pair.right.place,
            "grade": pair.grade,
            "claims": [asdict(claim) for claim in pair.claims],
        }
        for pair in pairs
    ]
    return {"left": names[0], "right": names[1], "mattering": differing, "pairs": compared, "alone": alone}


def _write(path: Path, names: Sequence[str], pairs: Sequence[SideBySide], alone: Sequence[str], differing: int) -> None:
    page = html.template("receipt_diff.html.j2").render(
        left=names[0],
        right=names[1],
        headline=_headline(differing),
        sentence=" ".join(f"{one[:1].upper()}{show_shortened(one[1:], _LONGEST)}." for one in alone)
        or _sentence(pairs),
        tone="inconclusive" if differing else "pass",
        pairs=pairs,
    )
    try:
        path.write_text(page, "utf-8")
    except OSError as fault:
        raise UsageFault(f"cannot write {path}: {fault.strerror}") from fault


def _headline(differing: int) -> str:
    if not differing:
        return "No difference matters"
    return "1 difference matters" if differing == 1 else f"{differing} differences matter"


def _sentence(pairs: Sequence[SideBySide]) -> str:
    counts = {grade: sum(one.grade == grade for pair in pairs for one in pair.claims) for grade in (SAME, EXPECTED)}
    return f"{counts[SAME]} the same, {counts[EXPECTED]} expected to differ. No signature was verified."


def _show(pairs: Sequence[SideBySide], alone: Sequence[str], differing: int, *, everything: bool) -> None:
    for pair in pairs:
        places = " beside ".join(dict.fromkeys(one_line(side.place) for side in (pair.left, pair.right) if side.place))
        click.echo(click.style(pair.call, bold=True) + (f"  {places}" if places else ""))
        for claim in pair.claims:
            if claim.grade != SAME or everything:
                _claim(claim)
        same = [one_line(one.name, 60) for one in pair.claims if one.grade == SAME]
        if same and not everything:
            click.echo(f"  same      {', '.join(same)}")
    for text in alone:
        click.secho(show_shortened(text, _LONGEST), fg="yellow")
    click.echo(f"\n{click.style(_headline(differing), bold=True)}. {_sentence(pairs)}")


def _claim(claim: ComparedClaim) -> None:
    part = f"{claim.part} " if claim.part == "header" else ""
    click.echo(f"  {click.style(f'{claim.grade:9}', fg=_COLOURS[claim.grade])} {part}{one_line(claim.name)}")
    if claim.grade == SAME:
        click.echo(f"            {_value(claim.left)}")
        return
    click.echo(f"            left   {_value(claim.left)}")
    click.echo(f"            right  {_value(claim.right)}")
    click.echo(f"            {one_line(claim.why, 600)}")


def _value(value: str | None) -> str:
    return "none" if value is None else one_line(value, 400)
