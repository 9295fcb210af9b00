"""`weldproof receipt`: explains, verifies and compares receipts, offline."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

from conformance.cli.suggestion import SuggestingGroup

_COMMANDS = {
    "inspect": "Explain each member of a receipt, without verification.",
    "verify": "Verify a receipt under a key that you choose, and its hashes.",
    "diff": "Compare the claims of two receipts.",
}


class _Lazy(SuggestingGroup):
    """A group that imports a command when it is used, so that each starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [name for name in _COMMANDS if find_spec(f"conformance.cli.receipt.{name}") is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: Any = import_module(f"conformance.cli.receipt.{cmd_name}").command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name]) for name in self.list_commands(ctx)])


@click.group("receipt", cls=_Lazy)
def command() -> None:
    """Explain, verify and compare signed receipts, offline.

    FILE contains a compact JWS, a JSON document with receipts, such as the answer of a paid call, or the value of a
    PAYMENT-RESPONSE header. - is standard input.
    """
