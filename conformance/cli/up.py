"""`weldproof up`: starts the reference by the launcher, which is a separate program."""

from __future__ import annotations

import os
import sys

import click

from conformance import extras
from conformance.cli.mutant_option import check_mutant, find_mutant_option
from conformance.processes import orphan_watchdog
from conformance.processes.process_cleanup import ProcessWatch


@click.command(
    "up",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Start all reference services on simulated chains or real nodes, until Ctrl-C."""
    if not {"-h", "--help"}.intersection(ctx.args):
        extras.need("reference")
    # The launcher takes seconds to start. A misspelled name is reported before.
    mutant = find_mutant_option(ctx.args)
    if mutant is not None:
        check_mutant(mutant)
    # With the mark, the process that started this one also ends the stack.
    if orphan_watchdog.MARK not in os.environ:
        ProcessWatch().pass_to_successor()
    os.execv(sys.executable, [sys.executable, "-m", "localnet", "up", *ctx.args])  # noqa: S606 - our own launcher
