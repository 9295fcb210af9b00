"""What the operators' commands of the surfaces have in common: how an act ends that was done, or was not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import click

from reference.web.settings import EXIT_USAGE, Misconfigured

EXIT_NOT_DONE = 1
_Result = TypeVar("_Result")


class NotDone(Exception):
    """What an operator asked for was not done; the text says why, and nothing was changed."""


def carried_out(act: Callable[[], Coroutine[Any, Any, _Result]], *, away: type[Exception], setting: str) -> _Result:
    """Return what an act returns, or end the program with a line that says why not: 1 for `NotDone`, else 2.

    Args:
        act: What is done, on an event loop of its own.
        away: What says that the database cannot be asked.
        setting: The setting that names the database.
    """
    try:
        return asyncio.run(act())
    except NotDone as reason:
        click.echo(f"Not done: {reason}.", err=True)
        sys.exit(EXIT_NOT_DONE)
    except Misconfigured as fault:
        click.echo(str(fault), err=True)
    except away as fault:
        click.echo(f"{setting}: the database cannot be asked ({fault}); nothing is known to be done", err=True)
    sys.exit(EXIT_USAGE)
