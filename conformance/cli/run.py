"""`weldproof run`: the suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from conformance.cli.addon_command import WithCommand
from conformance.cli.connection import connecting
from conformance.cli.renamed import renamed
from conformance.ledger import NEWEST, VERSIONS
from conformance.report.formats import FORMATS
from conformance.vocabulary.claims import LANES, SURFACES


@click.command("run", cls=WithCommand)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Target profile.")
@click.option(
    "--target", "addresses", multiple=True, metavar="NAME=URL", help="Address of a surface, without a profile."
)
@click.option("--addon", is_flag=True, help="Test an addon of yours: its command comes last, after --.")
@click.option("--addon-url", metavar="URL", help="Where it listens, where that is not the port of S2_HUB_SELF_URL.")
@renamed(
    "--reference", "--own-stack", is_flag=True, help="The reference, on a stack of our own: judges nothing of yours."
)
@click.option("--mutant", help="Our own stack as this deliberately broken variant.")
@click.option("--setting", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of our own stack.")
@click.option(
    "--chains",
    metavar="KINDS|FILE",
    help="Chains of our own stack: sim, localnet, or localnet,LANE=sim. Or a file with [chains.LANE] tables: "
    "those nodes instead of the profile's.",
)
@renamed(
    "--compare-with",
    "--beside",
    multiple=True,
    metavar="FILE|NAME=URL",
    help="Another target, by its profile: after the checks, its receipts for the same calls are put beside these.",
)
@click.option("--main-network", is_flag=True, help="Pay on main networks' nodes, with real money.")
@connecting
@click.option("--surface", "surfaces", multiple=True, type=click.Choice(SURFACES), help="Only rows of this surface.")
@click.option("--lane", "lanes", multiple=True, type=click.Choice(LANES), help="Only this lane.")
@click.option("--level", "levels", multiple=True, type=click.Choice(["MUST", "SHOULD", "MAY"]), help="Only this level.")
@click.option(
    "--ledger",
    type=click.IntRange(VERSIONS[0], NEWEST),
    default=NEWEST,
    show_default=True,
    help="Version of the list of requirements: a later one adds some and changes none.",
)
@click.option("--xfail", type=click.Path(path_type=Path, dir_okay=False), help="File with [[xfail]] entries.")
@click.option("--strict", is_flag=True, help="A warning fails the run, too.")
@click.option("--seed", type=int, help="Seed of everything random; printed, so that a run can be repeated.")
@click.option("--shard", metavar="I/N", help="The I-th of N parts, for `report merge`; goes with --seed.")
@click.option("--workers", type=click.IntRange(1, 64), help="Checks at the same time.")
@click.option(
    "--fuzz-seconds",
    type=click.FloatRange(min=1),
    help="Seconds for requests generated from OpenAPI documents (X-OAS-01), in place of a fixed number of them; more "
    "than 10 goes deeper.",
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first requirement that fails.")
@click.option("--report", "kinds", multiple=True, type=click.Choice(sorted(FORMATS)), help="Report to write.")
@click.option(
    "--report-dir", type=click.Path(path_type=Path, file_okay=False), default=Path("report"), show_default=True
)
@click.option(
    "--quick",
    is_flag=True,
    help="A look of seconds: of everything a little, no verdict; says what it left out.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the JSON report on standard output, nothing else.")
@click.option("-v", "--verbose", is_flag=True, help="Show more findings of a row, and the profile's values.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Run the suite: a verdict per requirement.

    ID is a prefix such as RAIL, RAIL-WELD or RAIL-WELD-02. Without a target, ./weldproof.toml is used; our own stack is
    brought up by --reference. An addon needs no other target: weldproof run CP-ADDON --addon -- node addon.mjs

    With --compare-with, receipts of two targets are compared after the checks; what differs decides no requirement.

    With --quick nothing is concluded but what failed: samples, one lane where there are several, and nothing that moves
    a clock. Its exit code 0 says that nothing tried failed, no more.

    Exit codes: 0 all pass, 1 a fail or an unexpected pass, 2 usage, 3 no verdict, 4 fault in the suite,
    130 interrupted.
    """
    from conformance.cli.running import run  # noqa: PLC0415 - `--help` waits for nothing that it imports

    run(ctx, **options)
