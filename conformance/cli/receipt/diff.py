"""`weldproof receipt diff`: compares two receipts, or the receipts of two documents, claim by claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from conformance.cli.receipt.input import read_receipts
from conformance.cli.usage import UsageFault
from conformance.outcome import Exit
from conformance.receipts.offline.comparing import Circumstances, compare, members
from conformance.receipts.offline.comparison_rules import TITLES
from conformance.receipts.offline.receipt_pairing import Pairs, Placed, pair_receipts, parse_receipts
from conformance.report import html, json
from conformance.report.receipt_comparison import EXPECTED, MATTERS, SAME, ComparedClaim, Side, SideBySide
from conformance.text.json_safe import json_safe
from conformance.text.target_text_escaping import one_line, show_shortened

_COLOURS: Final = {SAME: None, EXPECTED: "cyan", MATTERS: "yellow"}
# Characters of a text of a receipt in the output.
_LONGEST: Final = 4_000


@click.command("diff")
@click.argument("left", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.argument("right", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.option(
    "--same-payment",
    is_flag=True,
    help="Both receipts are for one payment, so members about the payment must be equal.",
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
    matched = pair_receipts(*(parse_receipts(read_receipts(side, None)) for side in (left, right)))
    # Without any pair there is nothing to compare, which is an error of usage and not a difference.
    if not matched.both:
        raise UsageFault("; ".join(_describe_lonely(side, one) for side, one in _lonely(matched)))
    circumstances = Circumstances("one" if same_payment else "unknown", request_recipes or None)
    pairs = [_compare_pair(names, *both, circumstances) for both in matched.both]
    lonely_texts = [_describe_lonely(side, one) for side, one in _lonely(matched)]
    # A receipt without a counterpart is a difference that matters: one side's verifier gets nothing to verify.
    difference_count = sum(len(pair.mattering_claims) for pair in pairs) + len(lonely_texts)
    if page is not None:
        _write(page, names, pairs, lonely_texts, difference_count)
    if as_json:
        click.echo(json.encode(json_safe(_document(names, pairs, matched, difference_count))), nl=False)
    else:
        _show(pairs, lonely_texts, difference_count, everything=everything)
    if page is not None and not as_json:
        click.echo(f"written    {page}")
    ctx.exit(Exit.FAILED if difference_count else Exit.PASSED)


def _compare_pair(names: Sequence[str], left: Placed, right: Placed, circumstances: Circumstances) -> SideBySide:
    if left.receipt is None or right.receipt is None:  # only readable receipts are matched
        raise UsageFault("a receipt cannot be read")
    comparison = compare(left.receipt, right.receipt, circumstances)
    call = " and ".join(dict.fromkeys(TITLES[one.kind] for one in (left.receipt, right.receipt)))
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
        comparison.grade.value,
        tuple(ComparedClaim(**one) for one in members(comparison)),
    )


def _lonely(matched: Pairs) -> list[tuple[str, Placed]]:
    return [("left", one) for one in matched.left] + [("right", one) for one in matched.right]


def _describe_lonely(side: str, receipt: Placed) -> str:
    where = f" at {receipt.place}" if receipt.place else ""
    if receipt.receipt is None:
        return f"the {side} receipt{where} cannot be read: {receipt.fault}"
    return f"only the {side} document has a {TITLES[receipt.receipt.kind]}{where}"


def _document(
    names: Sequence[str], pairs: Sequence[SideBySide], matched: Pairs, difference_count: int
) -> dict[str, Any]:
    lonely_members = [
        {"side": side, "place": one.place, "kind": one.receipt and one.receipt.kind, "fault": one.fault}
        for side, one in _lonely(matched)
    ]
    pair_members = [
        {
            "receipt": pair.call,
            "left": pair.left.place,
            "right": pair.right.place,
            "grade": pair.grade,
            "claims": [asdict(claim) for claim in pair.claims],
        }
        for pair in pairs
    ]
    return {
        "left": names[0],
        "right": names[1],
        "mattering": difference_count,
        "pairs": pair_members,
        "alone": lonely_members,
    }


def _write(
    path: Path, names: Sequence[str], pairs: Sequence[SideBySide], lonely_texts: Sequence[str], difference_count: int
) -> None:
    page = html.template("receipt_diff.html.j2").render(
        left=names[0],
        right=names[1],
        headline=_headline(difference_count),
        sentence=" ".join(f"{one[:1].upper()}{show_shortened(one[1:], _LONGEST)}." for one in lonely_texts)
        or _sentence(pairs),
        tone="inconclusive" if difference_count else "pass",
        pairs=pairs,
    )
    try:
        path.write_text(page, "utf-8")
    except OSError as fault:
        raise UsageFault(f"cannot write {path}: {fault.strerror}") from fault


def _headline(difference_count: int) -> str:
    if not difference_count:
        return "No difference matters"
    return "1 difference matters" if difference_count == 1 else f"{difference_count} differences matter"


def _sentence(pairs: Sequence[SideBySide]) -> str:
    counts = {grade: sum(one.grade == grade for pair in pairs for one in pair.claims) for grade in (SAME, EXPECTED)}
    return f"{counts[SAME]} the same, {counts[EXPECTED]} expected to differ. No signature was verified."


def _show(pairs: Sequence[SideBySide], lonely_texts: Sequence[str], difference_count: int, *, everything: bool) -> None:
    for pair in pairs:
        places = " and ".join(dict.fromkeys(one_line(side.place) for side in (pair.left, pair.right) if side.place))
        click.echo(click.style(pair.call, bold=True) + (f"  {places}" if places else ""))
        for claim in pair.claims:
            if claim.grade != SAME or everything:
                _show_claim(claim)
        equal_names = [one_line(one.name, 60) for one in pair.claims if one.grade == SAME]
        if equal_names and not everything:
            click.echo(f"  same      {', '.join(equal_names)}")
    for text in lonely_texts:
        click.secho(show_shortened(text, _LONGEST), fg="yellow")
    click.echo(f"\n{click.style(_headline(difference_count), bold=True)}. {_sentence(pairs)}")


def _show_claim(claim: ComparedClaim) -> None:
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
