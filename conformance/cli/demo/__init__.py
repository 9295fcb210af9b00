"""`weldproof demo`: the options and the help of the demonstration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command("demo")
@click.option(
    "--report-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo-report"),
    show_default=True,
    help="Folder of the reports.",
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Show how the suite finds a fault, in twenty seconds, only on this machine.

    Starts the reference pay rail on a simulated chain with one broken rule: a payment for one call buys another call.
    Then tests three requirements and shows the report of the one that fails. Ctrl-C ends the command and all programs
    that it started.

    Exit codes: 0 the fault was found, 1 it was not, 2 usage, 3 the reference did not come up, 4 fault in the suite,
    130 interrupted.
    """
    from conformance.cli.demo.execution import demonstrate  # noqa: PLC0415 - `--help` waits for nothing that it imports

    demonstrate(ctx, **options)
