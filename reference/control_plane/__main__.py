"""`weldproof-controlplane`: serve the control plane, or print the token with which one service registers."""

from __future__ import annotations

import reference.deferred_gc  # noqa: F401 - before all that is imported for it

# isort: split

import os
import sys

import click

from reference.control_plane.registration_rights import RegistrationRights
from reference.control_plane.runtime import open_control_plane
from reference.control_plane.settings import ControlPlaneSettings
from reference.protocol.service_record import checked_base_url, is_name, origin_of
from reference.web.http.bearer_token import BearerToken
from reference.web.servers import serving
from reference.web.settings import EXIT_USAGE, Misconfigured, name_setting, read_settings, server_option

# Host names are looked up in the event loop's threads, half of which may wait for a resolver. With the default of four,
# two names whose servers do not answer would delay all others.
_THREADS = "64"


@click.group(invoke_without_command=True)
@server_option
@click.pass_context
def main(ctx: click.Context, server: str | None) -> None:
    """Serve the control plane. Settings come from the environment (S2CP_…, WP_…); its secrets are files."""
    if ctx.invoked_subcommand is not None:
        return
    settings = read_settings(ControlPlaneSettings, server=server)
    os.environ.setdefault("UV_THREADPOOL_SIZE", _THREADS)
    serving.serve_surface(
        "S2CP", settings, lambda: open_control_plane(settings), port=settings.port, fd=settings.fd, host="S2CP_HOST"
    )


@main.command("addon-token")
@click.argument("name")
@click.option(
    "--at",
    "address",
    metavar="URL",
    required=True,
    help="Where the service is, its S2_HUB_SELF_URL; the token registers it at this host and port alone.",
)
def addon_token(name: str, address: str) -> None:
    """Print the token with which the service NAME registers itself, and nothing else; its S2_HUB_TOKEN."""
    settings = read_settings(ControlPlaneSettings)
    if not is_name(name):
        raise click.BadParameter("a service's name is 1 to 64 letters, digits, dots, underscores and hyphens")
    try:
        origin = origin_of(checked_base_url(address))
    except ValueError as fault:
        raise click.BadParameter(str(fault), param_hint="--at") from fault
    try:
        with name_setting("S2CP_DATA_DIR"):
            settings.data_dir.mkdir(parents=True, exist_ok=True)
            token = RegistrationRights(BearerToken.of(settings.token_file)).derive_token(name, origin)
    except Misconfigured as fault:
        click.echo(str(fault), err=True)
        sys.exit(EXIT_USAGE)
    click.echo(token.text())


if __name__ == "__main__":
    main(prog_name="weldproof-controlplane")
