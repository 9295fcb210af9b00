"""What to say when a name is unknown: the nearest known ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from conformance.ledger import Ledger


def find_nearest(text: str, known: Iterable[str], *, count: int = 3) -> tuple[str, ...]:
    """Return the known names that look most like `text`, best first, whatever its case."""
    names_by_upper_case = {name.upper(): name for name in known}
    return tuple(
        names_by_upper_case[match]
        for match in difflib.get_close_matches(text.upper(), names_by_upper_case, n=count, cutoff=0.5)
    )


class SuggestingGroup(click.Group):
    """A group of commands that names the nearest one if there is no such command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the words name.

        Raises:
            click.UsageError: There is none; the text names the nearest.
        """
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            near = find_nearest(name, self.list_commands(ctx), count=1)
            hint = f"did you mean {near[0]}?" if near else f"`{ctx.command_path} --help` lists them"
            ctx.fail(f"no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)


def describe_unknown(text: str, names: Iterable[str], kind: str) -> str:
    """Return one sentence: there is no such name, and which ones are near."""
    near = find_nearest(text, names)
    hint = f"did you mean {' or '.join(near)}?" if near else "`weldproof list` shows what there is"
    return f"no {kind} {text!r}; {hint}"


def prefixes(ledger: Ledger) -> tuple[str, ...]:
    """Return every id of the ledger and every prefix of one that ends at a hyphen."""
    prefix_set: dict[str, None] = {}
    for row in ledger:
        parts = row.id.split("-")
        prefix_set |= dict.fromkeys("-".join(parts[:length]) for length in range(1, len(parts) + 1))
    return tuple(prefix_set)
