"""`weldproof run`: the options and the help of a run of the suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from conformance.cli.connection import add_connection_options
from conformance.cli.program_command import RunCommand
from conformance.cli.renamed import option_with_old_name
from conformance.ledger import NEWEST, VERSIONS
from conformance.report.formats import FORMATS
from conformance.vocabulary.profile_claims import BLOCK_MODES, LANES, SURFACES


@click.command("run", cls=RunCommand)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Target profile.")
@click.option(
    "--target", "addresses", multiple=True, metavar="NAME=URL", help="Address of a surface, without a profile."
)
@click.option("--addon", is_flag=True, help="Test your addon; its command is last, after --.")
@click.option(
    "--addon-url", metavar="URL", help="Address of the addon, if it does not listen at the port of S2_HUB_SELF_URL."
)
@click.option("--stock", is_flag=True, help="Your payer is a stock client of x402 version 2, which knows no weld.")
@option_with_old_name(
    "--reference", "--own-stack", is_flag=True, help="Test the built-in reference; nothing of yours is judged."
)
@click.option("--mutant", help="Test the reference as this deliberately broken variant.")
@click.option("--setting", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the reference.")
@click.option(
    "--chains",
    metavar="KINDS|FILE",
    help="Chains of the reference: sim, localnet, or localnet,LANE=sim. Or a file with [chains.LANE] tables, whose "
    "nodes replace those of the profile.",
)
@click.option(
    "--algorand-mode",
    "block_mode",
    type=click.Choice(BLOCK_MODES),
    help="The reference's simulated Algorand as algod in DevMode, or with ordinary rounds.",
)
@option_with_old_name(
    "--compare-with",
    "--beside",
    multiple=True,
    metavar="FILE|NAME=URL",
    help="Profile or addresses of another target. After the checks, the receipts of both targets for the same calls "
    "are compared.",
)
@click.option("--main-network", is_flag=True, help="Allow payments on main networks, with real money.")
@add_connection_options
@click.option(
    "--surface", "surfaces", multiple=True, type=click.Choice(SURFACES), help="Only requirements of this surface."
)
@click.option("--lane", "lanes", multiple=True, type=click.Choice(LANES), help="Only this lane.")
@click.option("--level", "levels", multiple=True, type=click.Choice(["MUST", "SHOULD", "MAY"]), help="Only this level.")
@click.option(
    "--ledger",
    type=click.IntRange(VERSIONS[0], NEWEST),
    default=NEWEST,
    show_default=True,
    help="Version of the list of requirements. A later version adds requirements and changes none.",
)
@click.option("--xfail", type=click.Path(path_type=Path, dir_okay=False), help="File with [[xfail]] entries.")
@click.option("--strict", is_flag=True, help="A warning also fails the run.")
@click.option("--seed", type=int, help="Seed of the random choices. It is printed, so that a run can be repeated.")
@click.option("--shard", metavar="I/N", help="Run only part I of N, for `report merge`; needs --seed.")
@click.option("--workers", type=click.IntRange(1, 64), help="Number of checks that run at the same time.")
@click.option(
    "--fuzz-seconds",
    type=click.FloatRange(min=1),
    help="Seconds for requests generated from OpenAPI documents (X-OAS-01), instead of a fixed number of requests. "
    "More than 10 seconds find more.",
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first requirement that fails.")
@click.option(
    "--report", "kinds", multiple=True, type=click.Choice(sorted(FORMATS)), help="Format of a report to write."
)
@click.option(
    "--report-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="[default: report; with --quick report-quick]",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Test samples in a few seconds and list what is left out. Gives no verdict.",
)
@click.option("--json", "as_json", is_flag=True, help="Print only the JSON report on standard output.")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Show more findings per requirement, why requirements do not apply, and the values of the profile.",
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Run the suite and report a verdict per requirement.

    ID is a prefix such as RAIL, RAIL-WELD or RAIL-WELD-02. The default target is the profile ./weldproof.toml.
    --reference starts the built-in reference and tests it. An addon needs no other target: weldproof run CP-ADDON
    --addon -- node addon.mjs. Neither does a payer, for which the suite plays the rail on simulated chains:
    weldproof run PAYER -- python pay.py

    With --compare-with, the receipts of two targets are compared after the checks. A difference changes no verdict.

    With --quick the suite tests samples, on one lane, and leaves out every check that moves a clock. A failure is a
    failure, but exit code 0 only means that no sample failed.

    Exit codes: 0 all pass, 1 a fail or an unexpected pass, 2 usage, 3 no verdict, 4 fault in the suite,
    130 interrupted.
    """
    # `--help` does not wait for these imports.
    from conformance.cli.run.execution import run_suite  # noqa: PLC0415
    from conformance.cli.run.options import RunOptions  # noqa: PLC0415

    run_suite(ctx, RunOptions(**options))
