"""What every command raises when it cannot use what the operator gave."""

from __future__ import annotations

import click

from conformance.outcome import Exit


class UsageFault(click.ClickException):
    """What the operator gave cannot be used."""

    exit_code = Exit.USAGE
