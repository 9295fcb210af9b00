"""JSON on standard output, for `--json`."""

from __future__ import annotations

from typing import Any

import click
import orjson

from conformance.text.workflow_command_escaping import escape_commands_in_json


def print_json(value: Any, *, indent: bool = True) -> None:
    """Print a JSON value, in which text of a target is not a command of a build service."""
    click.echo(escape_commands_in_json(orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None)))
