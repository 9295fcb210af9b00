"""`weldproof up`: hands over to the launcher, which is a program of its own."""

from __future__ import annotations

import os
import sys

import click

from conformance import extras
from conformance.cli.mutants import check_mutant, find_mutant_option
from conformance.processes import leftovers
from conformance.processes.watch import Watch


@click.command(
    "up",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Start all reference services on simulated chains or real nodes, until Ctrl-C; `--help` lists the options."""
    if not {"-h", "--help"}.intersection(ctx.args):
        extras.need("reference")
    mutant = find_mutant_option(ctx.args)
    if mutant is not None:
        check_mutant(mutant)
    if leftovers.MARK not in os.environ:  # else whoever started this ends it, too
        Watch().hand_on()
    os.execv(sys.executable, [sys.executable, "-m", "localnet", "up", *ctx.args])  # noqa: S606 - our own launcher
