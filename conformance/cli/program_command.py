"""The words after `--`: the command of an addon or of a payer, separated from the options of a command of the suite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

PAYER_ROWS: Final = "PAYER"
_COMMAND: Final = "conformance.program.command"
_SCHEMES: Final = ("http://", "https://")


class RunCommand(click.Command):
    """A click command that separates the words after `--` if an addon or a payer is tested."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remove the program's command from the words before click parses them."""
        end = args.index("--") if "--" in args else len(args)
        if self.takes_program(args[:end], args[end + 1 :]):
            ctx.meta[_COMMAND] = tuple(args[end + 1 :])
            args = args[:end]
        return super().parse_args(ctx, args)

    def takes_program(self, words: Sequence[str], rest: Sequence[str]) -> bool:
        """Return whether the words before `--` make the rest a program's command."""
        del rest
        return "--addon" in words or any(_names_payer(word) for word in words)


class CheckCommand(RunCommand):
    """A click command that takes an address, or a payer with its command after `--`."""

    def takes_program(self, words: Sequence[str], rest: Sequence[str]) -> bool:
        """Return whether the rest is a command, also after a misspelled PAYER, which the command then reports."""
        return bool(words) and bool(rest) and not rest[0].startswith(_SCHEMES)


class ReplayCommand(RunCommand):
    """A click command that takes the command of a payer after `--`."""

    def takes_program(self, words: Sequence[str], rest: Sequence[str]) -> bool:
        """Return whether words follow `--`."""
        return bool(words) and bool(rest)


def _names_payer(word: str) -> bool:
    return word.strip().upper().startswith(PAYER_ROWS)


def command_after_dashes(ctx: click.Context) -> Sequence[str]:
    """Return the program's command, word by word; empty without one."""
    words: tuple[str, ...] = ctx.meta.get(_COMMAND, ())
    return words
