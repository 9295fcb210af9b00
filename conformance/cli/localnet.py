"""`weldproof localnet`: starts and stops real nodes by the launcher, which is a separate program."""

from __future__ import annotations

import os
import sys

import click

from conformance import extras


@click.command(
    "localnet",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Start, stop, inspect and fund real nodes: `start`, `stop`, `status`, `fund`, `doctor`."""
    if ctx.args and not {"-h", "--help"}.intersection(ctx.args):
        extras.need("reference")
    # The launcher replaces this process: signals and the exit code are then its own.
    os.execv(sys.executable, [sys.executable, "-m", "localnet", *(ctx.args or ["--help"])])  # noqa: S606 - our own launcher
