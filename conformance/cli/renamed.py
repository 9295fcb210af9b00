"""Options that have a new name: the old one still works for a release, and help does not show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


class RenamedOption(click.Option):
    """An option whose last name is an old one, which help leaves out."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return what help says of it, without its old name."""
        names = self.opts
        self.opts = names[:-1]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = names


def option_with_old_name(new: str, old: str, **settings: Any) -> Callable[[Command], Command]:
    """Return the decorator of an option that is called `new`, and was called `old`; its parameter keeps its name."""
    return click.option(new, old, old.removeprefix("--").replace("-", "_"), cls=RenamedOption, **settings)
