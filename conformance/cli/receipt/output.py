"""Output of `weldproof receipt` in other forms than text: JSON on standard output, and pages in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import orjson

from conformance.cli.usage import UsageFault
from conformance.text.json_safe import json_safe
from conformance.text.workflow_command_escaping import escape_commands_in_json


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(escape_commands_in_json(orjson.dumps(json_safe(value), option=orjson.OPT_INDENT_2)))


def write_page(path: Path, page: str) -> None:
    """Write a page and print its path on standard error.

    Raises:
        UsageFault: The file cannot be written.
    """
    try:
        path.write_text(page, "utf-8")
    except OSError as fault:
        raise UsageFault(f"--html {path}: {fault.strerror}") from fault
    click.echo(f"written to {path}", err=True)
