"""Renamed options: the old name still works for one release, and help does not show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


class RenamedOption(click.Option):
    """An option whose last name is its old one, which help omits."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option's line of the help, without its old name."""
        # click takes the names of the help line from `opts`, and also parses by them, so they are
        # put back.
        names = self.opts
        self.opts = names[:-1]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = names


def option_with_old_name(new: str, old: str, **settings: Any) -> Callable[[Command], Command]:
    """Return a decorator for an option named `new`, formerly `old`; its parameter keeps the old name."""
    return click.option(new, old, old.removeprefix("--").replace("-", "_"), cls=RenamedOption, **settings)
