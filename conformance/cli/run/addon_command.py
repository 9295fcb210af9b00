"""The words after `--`: the command of an addon, separated from the options of `weldproof run`."""

from __future__ import annotations

from typing import Final

import click

_COMMAND: Final = "conformance.addon.command"


class AddonCommand(click.Command):
    """A click command that separates the words after `--` if `--addon` is given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remove the addon's command from the words before click parses them."""
        end = args.index("--") if "--" in args else len(args)
        if "--addon" in args[:end]:
            ctx.meta[_COMMAND] = tuple(args[end + 1 :])
            args = args[:end]
        return super().parse_args(ctx, args)


def addon_command_of(ctx: click.Context) -> tuple[str, ...]:
    """Return the addon's command, word by word."""
    words: tuple[str, ...] = ctx.meta.get(_COMMAND, ())
    return words
