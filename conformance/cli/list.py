"""`weldproof list`: requirements and checks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from conformance.cli.json_output import print_json
from conformance.cli.suggestion import describe_unknown, prefixes
from conformance.cli.usage import UsageFault
from conformance.engine.catalogue import load_catalogue
from conformance.ledger import Requirement, load
from conformance.vocabulary.lanes.row_applicability import decided_on
from conformance.vocabulary.profile_claims import LANES, SURFACES


@click.command("list")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--surface", "surfaces", multiple=True, type=click.Choice(SURFACES), help="Only requirements of this surface."
)
@click.option(
    "--level",
    "levels",
    multiple=True,
    type=click.Choice(["MUST", "SHOULD", "MAY"]),
    help="Only requirements of this level.",
)
@click.option("--lane", "lanes", multiple=True, type=click.Choice(LANES), help="Only requirements of this lane.")
@click.option("--deciding", is_flag=True, help="Only requirements that decide the verdict; the others warn.")
@click.option(
    "--unchecked", is_flag=True, help="Only requirements without a check and without a written reason for that."
)
@click.option("--checks", "as_checks", is_flag=True, help="List checks, with the requirements that each decides.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(ids: Sequence[str], as_checks: bool, as_json: bool, **filters: Any) -> None:
    """List requirements: id, weight, how many checks decide it, and the sentence.

    ID is a prefix such as RAIL, RAIL-WELD or RAIL-WELD-02. The weight is `decides` for every MUST, stated or
    implied by the interface; a breach of any other row warns.
    """
    deciders = _deciders()
    rows = tuple(row for row in select_rows(ids) if _passes_filters(row, deciders, filters))
    if as_checks:
        _show_checks(rows, as_json=as_json)
    elif as_json:
        print_json([_row(row, deciders) for row in rows])
    else:
        _show_rows(rows, deciders)


def select_rows(ids: Sequence[str]) -> tuple[Requirement, ...]:
    """Return the rows that start with one of `ids`.

    Raises:
        UsageFault: No requirement starts with an id; the text contains the nearest ones.
    """
    ledger = load()
    try:
        return ledger.select(ids)
    except LookupError as prefix:
        raise UsageFault(describe_unknown(str(prefix), prefixes(ledger), "requirement")) from prefix


def _deciders() -> Mapping[str, tuple[str, ...]]:
    check_ids: dict[str, list[str]] = defaultdict(list)
    for check in load_catalogue():
        for row in check.rows:
            check_ids[row].append(check.id)
    return {row: tuple(names) for row, names in check_ids.items()}


def _passes_filters(row: Requirement, deciders: Mapping[str, tuple[str, ...]], filters: Mapping[str, Any]) -> bool:
    return (
        (not filters["surfaces"] or row.surface in filters["surfaces"])
        and (not filters["levels"] or row.level in filters["levels"])
        # A row of one lane's family is decided on each lane of the family.
        and (not filters["lanes"] or (row.lane is not None and any(decided_on(row, lane) for lane in filters["lanes"])))
        and (not filters["deciding"] or row.decides)
        and (not filters["unchecked"] or (row.id not in deciders and row.documented is None))
    )


def _row(row: Requirement, deciders: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    return {**asdict(row), "decides": row.decides, "checks": deciders.get(row.id, ())}


def _show_rows(rows: Sequence[Requirement], deciders: Mapping[str, tuple[str, ...]]) -> None:
    # `default` covers a selection without rows.
    width = max((len(row.id) for row in rows), default=0)
    for row in rows:
        weight = "decides" if row.decides else "warns"
        click.echo(f"{row.id:{width}}  {row.level:6}  {weight:7}  {_coverage(row, deciders):10}  {row.sentence}")
    open_rows = sum(row.id not in deciders and row.documented is None for row in rows)
    deciding_count = sum(row.decides for row in rows)
    click.echo(f"\n{len(rows)} requirements, {deciding_count} decide the verdict, {open_rows} have no check yet")


def _coverage(row: Requirement, deciders: Mapping[str, tuple[str, ...]]) -> str:
    if row.documented is not None:
        return "documented"
    count = len(deciders.get(row.id, ()))
    return {0: "no check", 1: "1 check"}.get(count, f"{count} checks")


def _show_checks(rows: Sequence[Requirement], *, as_json: bool) -> None:
    row_ids = {row.id for row in rows}
    checks = [check for check in load_catalogue() if row_ids.intersection(check.rows)]
    if as_json:
        print_json([check.as_json() for check in checks])
        return
    for check in checks:
        click.echo(f"{check.id}  ({', '.join(check.rows)})\n    {check.sentence.partition(chr(10))[0]}")
    click.echo(f"\n{len(checks)} checks")
