"""What every command raises when it cannot use what the operator gave."""

from __future__ import annotations

import click

from conformance.outcome import Exit
from conformance.text.untrusted import visible


class UsageFault(click.ClickException):
    """What the operator gave cannot be used."""

    exit_code = Exit.USAGE

    def format_message(self) -> str:
        """Return the message with nothing that a terminal or a build service would obey: it may quote a file."""
        return visible(super().format_message())
