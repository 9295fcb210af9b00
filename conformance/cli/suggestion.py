"""Suggestions for unknown names: "did you mean"."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from conformance.ledger import Ledger


def find_nearest(text: str, known: Iterable[str], *, count: int = 3) -> tuple[str, ...]:
    """Return the known names that are most similar to `text`, best first, regardless of case."""
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
        """Return the command that the words name.

        Raises:
            click.UsageError: No command has this name; the text contains the nearest one.
        """
        name = args[0]
        # A word with a hyphen is an unknown option, which click reports itself.
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            near = find_nearest(name, self.list_commands(ctx), count=1)
            hint = f"did you mean {near[0]}?" if near else f"`{ctx.command_path} --help` lists them"
            ctx.fail(f"no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)


def describe_unknown(text: str, names: Iterable[str], kind: str) -> str:
    """Return a sentence that a name is unknown, with the nearest known names."""
    known = tuple(names)
    # `RAIL-WELD-1` is most likely `RAIL-WELD-01`, although `RAIL-WELD-10` is as similar.
    padded = re.sub(r"-(\d)$", r"-0\1", text.strip().upper())
    near = tuple(dict.fromkeys((*((padded,) if padded in known else ()), *find_nearest(text, known))))[:3]
    hint = f"did you mean {' or '.join(near)}?" if near else "`weldproof list` shows all"
    return f"no {kind} {text!r}; {hint}"


def prefixes(ledger: Ledger) -> tuple[str, ...]:
    """Return every id of the ledger and every prefix of one that ends at a hyphen."""
    prefix_set: dict[str, None] = {}
    for row in ledger:
        # A prefix of an id may also be meant, such as RAIL-WELD.
        parts = row.id.split("-")
        prefix_set |= dict.fromkeys("-".join(parts[:length]) for length in range(1, len(parts) + 1))
    return tuple(prefix_set)
