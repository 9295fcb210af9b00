"""`localnet doctor`: which real nodes this machine can run, and the line that installs what is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict

import click
import orjson

from localnet.lanes.lane import Found
from localnet.lanes.registry import LANES

_EXIT_MISSING = 3


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Say which real nodes can run here, and how to get the others. Nothing is installed or started.

    Exit codes: 0 every chain has a node, 3 one has none.
    """
    findings = list(examine())
    if as_json:
        click.echo(orjson.dumps([asdict(finding) for finding in findings], option=orjson.OPT_INDENT_2))
    else:
        for finding in findings:
            click.echo(
                f"{click.style('ok     ' if finding.ready else 'missing', fg='green' if finding.ready else 'red')}",
                nl=False,
            )
            click.echo(f"  {finding.chain:9} {finding.how}")
            if not finding.ready:
                click.echo(f"{'':19}to do: {finding.remedy}")
    sys.exit(0 if all(finding.ready for finding in findings) else _EXIT_MISSING)


def examine() -> Iterator[Found]:
    """Look for each chain's node, in the order in which it would be taken."""
    return (lane.examine() for lane in LANES.values())
