"""`localnet doctor`: which real nodes this machine can run, and the line that installs what is missing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click
import orjson

from localnet import npm
from localnet.algod import ALGOKIT_INSTALLED, algokit_lacks
from programs import node, npm_packages

_EXIT_MISSING = 3


@dataclass(frozen=True, slots=True)
class Found:
    """What one chain's real node would run on.

    Attributes:
        chain: The lane.
        ready: Whether a node could be started now.
        how: What it would run on, or what is missing.
        remedy: The line that installs it; empty when it is there.
    """

    chain: str
    ready: bool
    how: str
    remedy: str = ""


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Say which real nodes can run here, and how to get the others. Nothing is installed or started.

    Exit codes: 0 every chain has a node, 3 one has none.
    """
    findings = list(examine())
    if as_json:
        click.echo(orjson.dumps([asdict(one) for one in findings], option=orjson.OPT_INDENT_2))
    else:
        for one in findings:
            click.echo(
                f"{click.style('ok     ' if one.ready else 'missing', fg='green' if one.ready else 'red')}", nl=False
            )
            click.echo(f"  {one.chain:9} {one.how}")
            if not one.ready:
                click.echo(f"{'':19}to do: {one.remedy}")
    sys.exit(0 if all(one.ready for one in findings) else _EXIT_MISSING)


def examine() -> Iterator[Found]:
    """Look for each chain's node, in the order in which it would be taken."""
    yield _algorand()
    yield _base()
    yield _solana()


def _algorand() -> Found:
    if "ALGOD_URL" in os.environ:
        return Found("algorand", ready=True, how="algod at ALGOD_URL, not asked yet")
    tool = shutil.which("algokit")
    lacking = algokit_lacks(tool)
    if not lacking:
        return Found("algorand", ready=True, how=f"{tool} with a container engine")
    return Found("algorand", ready=False, how=f"ALGOD_URL is not set; {lacking}", remedy=ALGOKIT_INSTALLED)


def _base() -> Found:
    own = os.environ.get("ANVIL") or shutil.which("anvil")
    return Found("base", ready=True, how=own) if own else _from_npm("base", "Anvil")


def _solana() -> Found:
    packaged = _from_npm("solana", "surfpool")
    validator = shutil.which("solana-test-validator")
    return Found("solana", ready=True, how=validator) if validator and not packaged.ready else packaged


def _from_npm(chain: str, what: str) -> Found:
    if npm.installed():
        return Found(chain, ready=True, how=f"{what} in {npm_packages.folder()}")
    with_node = "" if node.found() else ", with Node.js from PyPI"
    return Found(chain, ready=True, how=f"{what} from npm{with_node}, installed at the first start")
