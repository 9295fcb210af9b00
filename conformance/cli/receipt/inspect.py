"""`weldproof receipt inspect`: explains a receipt, member by member."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.cli.receipt import text
from conformance.cli.receipt.input import read_receipts
from conformance.cli.receipt.output import print_json, write_page
from conformance.outcome import Exit
from conformance.receipts.offline.inspecting import inspect


@click.command("inspect")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.option("--at", metavar="PLACE", help="Inspect only this place, such as receipt.jws.")
@click.option("--html", "page", type=click.Path(path_type=Path, dir_okay=False), help="Write an HTML page.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.pass_context
def command(ctx: click.Context, /, file: Path, at: str | None, page: Path | None, as_json: bool) -> None:
    """Explain every member of a receipt and its value in a sentence. The signature is not verified.

    FILE contains a compact JWS, or a JSON document with receipts; - is standard input.

    Exit codes: 0 well-formed (not verified), 1 invalid under every key, 2 usage.
    """
    inspections = [inspect(found) for found in read_receipts(file, at)]
    if page is not None:
        from conformance.receipts.offline.page import inspection_page  # noqa: PLC0415 - templates take time

        write_page(page, inspection_page(inspections))
    if as_json:
        print_json({"verified": None, "receipts": [one.as_json() for one in inspections]})
    else:
        text.show_inspections(inspections)
    # A well-formed receipt is not a valid one, so 0 does not mean "verified".
    ctx.exit(Exit.FAILED if any(one.faults for one in inspections) else Exit.PASSED)
