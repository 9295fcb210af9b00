"""The usage error of every command."""

from __future__ import annotations

import click

from conformance.outcome import Exit
from conformance.text.target_text_escaping import visible


class UsageFault(click.ClickException):
    """An argument, an option or a file of the operator cannot be used; the command ends with exit code 2."""

    exit_code = Exit.USAGE

    def format_message(self) -> str:
        """Return the message, which may quote a file, with control characters escaped."""
        return visible(super().format_message())
