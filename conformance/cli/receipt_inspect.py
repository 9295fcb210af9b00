"""`weldproof receipt inspect`: a receipt explained, member by member."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.cli import receipt_text
from conformance.cli.receipt_input import receipts
from conformance.cli.receipt_output import print_json, write_page
from conformance.outcome import Exit
from conformance.receipts.offline.inspecting import inspect


@click.command("inspect")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.option("--at", metavar="PLACE", help="The one place to look at, such as receipt.jws, whatever stands there.")
@click.option("--html", "page", type=click.Path(path_type=Path, dir_okay=False), help="Write one page for people.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(ctx: click.Context, /, file: Path, at: str | None, page: Path | None, as_json: bool) -> None:
    """Explain every member of a receipt in a sentence: what it is, and what it says here. Nothing is verified.

    FILE holds a compact JWS, or a JSON document in which receipts stand; - is standard input.

    Exit codes: 0 well-formed (and not verified), 1 what no verifier would accept under any key, 2 usage.
    """
    made = [inspect(found) for found in receipts(file, at)]
    if page is not None:
        from conformance.receipts.offline.page import inspection_page  # noqa: PLC0415 - templates take time

        write_page(page, inspection_page(made))
    if as_json:
        print_json({"verified": None, "receipts": [one.as_json() for one in made]})
    else:
        receipt_text.show_inspections(made)
    ctx.exit(Exit.FAILED if any(one.faults for one in made) else Exit.PASSED)
