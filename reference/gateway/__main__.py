"""`weldproof-gateway`: serve the gateway, rotate its signing key, create administrators' keys, manage payments."""

from __future__ import annotations

import reference.deferred_gc  # noqa: F401 - before all that is imported for it

# isort: split

import asyncio
import sys
import time

import click

from reference.gateway.credentials import SCOPES
from reference.gateway.payments_command import payments
from reference.gateway.runtime import new_admin_key, open_gateway
from reference.gateway.settings import GatewaySettings
from reference.store.database import DatabaseUnavailable
from reference.web import keyring
from reference.web.control_plane_link import surface_serving
from reference.web.settings import EXIT_USAGE, Misconfigured, name_setting, read_settings, server_option
from reference.webhooks.dispatcher_runner import deliver


@click.group(invoke_without_command=True)
@server_option
@click.pass_context
def main(ctx: click.Context, server: str | None) -> None:
    """Serve the gateway. Settings come from the environment (WP_…, S2_HUB_…); secrets from files."""
    if ctx.invoked_subcommand is not None:
        return
    settings = read_settings(GatewaySettings, server=server)
    surface_serving.serve(
        # Only this program knows both the gateway and the dispatcher of webhooks. So the dispatcher could run as a
        # separate process without a change to the gateway (decision 0022).
        lambda _: open_gateway(settings, [deliver]),
        settings,
        "gateway",
        settings="WP_GATEWAY",
        kind="gateway",
        port=settings.gateway_port,
        fd=settings.gateway_fd,
    )


@main.command("rotate-key")
def rotate_key() -> None:
    """Make a new active signing key at once; the old one stays published as retired."""
    settings = read_settings(GatewaySettings)
    try:
        with name_setting("WP_GATEWAY_SIGNING_KEY_FILE"):
            fresh = keyring.rotate(settings.signing_key_file, now=int(time.time()))
    except Misconfigured as fault:
        click.echo(str(fault), err=True)
        sys.exit(EXIT_USAGE)
    click.echo(fresh.kid)


@main.command("admin-key")
@click.argument("scopes", nargs=-1, required=True, type=click.Choice(SCOPES))
def admin_key(scopes: tuple[str, ...]) -> None:
    """Make a further administrator's key that may do what SCOPES say, and print it once."""
    settings = read_settings(GatewaySettings)
    try:
        click.echo(asyncio.run(new_admin_key(settings, scopes)))
    except DatabaseUnavailable as fault:
        click.echo(f"WP_GATEWAY_DB: the database cannot be asked ({fault})", err=True)
        sys.exit(EXIT_USAGE)
    except Misconfigured as fault:
        click.echo(str(fault), err=True)
        sys.exit(EXIT_USAGE)


main.add_command(payments)


if __name__ == "__main__":
    main(prog_name="weldproof-gateway")
