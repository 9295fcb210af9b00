"""Common parts of the operators' commands: lists of payments, and exit codes of operations that were not done."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import click

from reference.web.settings import EXIT_USAGE, Misconfigured

EXIT_NOT_DONE = 1
_MOST = 1000
_LISTING = (
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    click.option("--refunded", is_flag=True, help="List those that were given back instead."),
    click.option("--most", type=click.IntRange(1, 100_000), default=_MOST, show_default=True, help="List no more."),
)
_Result = TypeVar("_Result")
_Item = TypeVar("_Item")
_Function = TypeVar("_Function", bound=Callable[..., Any])


class NotDone(Exception):
    """An operation was not done; the text gives the reason, and nothing was changed."""


def run_act(act: Callable[[], Coroutine[Any, Any, _Result]], *, away: type[Exception], setting: str) -> _Result:
    """Return the result of an operation, or end the program with one line of reason: status 1 for `NotDone`, else 2.

    Args:
        act: The operation; it runs on its own event loop.
        away: The exception of a database that cannot be asked.
        setting: The setting that names the database.
    """
    try:
        return asyncio.run(act())
    except NotDone as reason:
        click.echo(f"Not done: {reason}.", err=True)
        # A separate status, so that scripts can distinguish an operation that was not done from a wrong setting.
        sys.exit(EXIT_NOT_DONE)
    except Misconfigured as fault:
        click.echo(str(fault), err=True)
    except away as fault:
        click.echo(f"{setting}: the database cannot be asked ({fault}); the outcome is unknown", err=True)
    sys.exit(EXIT_USAGE)


def add_list_options(command: _Function) -> _Function:
    """Give a command the options of a list of payments: `as_json`, `refunded` and `most`."""
    # click shows options in the reverse order of their decorators.
    for option in reversed(_LISTING):
        command = option(command)
    return command


def show_payments(
    payments: Sequence[_Item],
    most: int,
    *,
    as_json: bool,
    members: Callable[[_Item], Mapping[str, Any]],
    lines: Callable[[Sequence[_Item]], Sequence[str]],
) -> None:
    """Print payments, and whether there are more than `most`.

    Args:
        payments: The payments, one more than `most` where there are so many.
        most: How many are shown.
        as_json: Print one JSON object, `payments` and `more`, instead of lines.
        members: Returns a payment as JSON.
        lines: Returns some, at least one, as lines.
    """
    listed_payments, more = payments[:most], len(payments) > most
    if as_json:
        click.echo(json.dumps({"payments": [members(one) for one in listed_payments], "more": more}, indent=2))
        return
    click.echo("\n".join(lines(listed_payments)) if listed_payments else "No entries.")
    if more:
        click.echo(f"There are more than {most}; see --most.", err=True)
