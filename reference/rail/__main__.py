"""`weldproof-rail`: serve the pay rail, or rotate its signing key."""

from __future__ import annotations

import reference.deferred_gc  # noqa: F401 - before all that is imported for it

# isort: split

import asyncio
import sys
import time

import click

from reference.rail import runtime
from reference.rail.payments_command import payments
from reference.rail.settings import RailSettings
from reference.store.database import DatabaseUnavailable
from reference.web import keyring
from reference.web.control_plane_link import surface_serving
from reference.web.settings import EXIT_USAGE, Misconfigured, name_setting, read_settings, server_option


@click.group(invoke_without_command=True)
@server_option
@click.pass_context
def main(ctx: click.Context, server: str | None) -> None:
    """Serve the pay rail. Settings come from the environment (WP_…, S2_HUB_…); secrets from files."""
    if ctx.invoked_subcommand is not None:
        return
    settings = read_settings(RailSettings, server=server)
    surface_serving.serve(
        lambda _: runtime.open_rail(settings),
        settings,
        "rail",
        settings="WP_RAIL",
        kind="rail",
        port=settings.rail_port,
        fd=settings.rail_fd,
    )


@main.command("rotate-key")
def rotate_key() -> None:
    """Make a new active signing key at once; the old one stays published as retired."""
    settings = read_settings(RailSettings)
    try:
        with name_setting("WP_RAIL_SIGNING_KEY_FILE"):
            fresh = keyring.rotate(settings.signing_key_file, now=int(time.time()))
    except Misconfigured as fault:
        click.echo(str(fault), err=True)
        sys.exit(EXIT_USAGE)
    click.echo(fresh.kid)


@main.command("adopt-token-secret")
def adopt_token_secret() -> None:
    """Record this rail's token secret in its database. Stop every worker first; unpaid quotes end."""
    settings = read_settings(RailSettings)
    try:
        asyncio.run(runtime.adopt_token_secret(settings))
    except (Misconfigured, DatabaseUnavailable) as fault:
        click.echo(str(fault), err=True)
        sys.exit(EXIT_USAGE)


main.add_command(payments)


if __name__ == "__main__":
    main(prog_name="weldproof-rail")
