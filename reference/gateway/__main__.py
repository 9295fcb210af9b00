"""`weldproof-gateway`: serve the gateway, or rotate its signing key."""

from __future__ import annotations

import sys
import time

import click

from reference.gateway.runtime import running
from reference.gateway.settings import GatewaySettings
from reference.web import keyring, serving
from reference.web.settings import EXIT_USAGE, Misconfigured, read_settings


@click.group(invoke_without_command=True)
@click.pass_context
def main(ctx: click.Context) -> None:
    """Serve the gateway. Settings come from the environment (WP_…); secrets from files."""
    if ctx.invoked_subcommand is not None:
        return
    settings = read_settings(GatewaySettings)
    serving.configure_logs(settings.log_level)
    try:
        serving.run(lambda: running(settings), host=settings.bind, port=settings.gateway_port, fd=settings.gateway_fd)
    except (Misconfigured, ValueError) as fault:
        click.echo(str(fault), err=True)
        sys.exit(EXIT_USAGE)


@main.command("rotate-key")
def rotate_key() -> None:
    """Make a new active signing key at once; the old one stays published as retired."""
    settings = read_settings(GatewaySettings)
    fresh = keyring.rotate(settings.signing_key_file, now=int(time.time()))
    click.echo(fresh.kid)


if __name__ == "__main__":
    main(prog_name="weldproof-gateway")
