"""`weldproof tenant`: creates and changes tenants of a gateway, without a dashboard."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from conformance.cli.json_output import print_json
from conformance.cli.suggestion import SuggestingGroup
from conformance.cli.usage import UsageFault
from conformance.outcome import Exit
from conformance.text.files import read_text
from conformance.text.target_text_escaping import one_line, show_shortened

if TYPE_CHECKING:
    from conformance.surfaces.gateway.admin_api_client import GatewayAdministrator

KEY_VARIABLE = "WELDPROOF_ADMIN_KEY"
_DEFAULT_URL = "http://localhost:8090"
# Characters of one value, or of an error of the gateway, that are shown.
_LONGEST_TEXT = 1000
# The states in the order of the specification (P-CK-10).
_PAYMENT_STATES = ("paid", "late", "short", "surplus", "other_asset", "ambiguous")
_SHOWN_ONCE = "The {} is shown only once; store it now."
Command = TypeVar("Command", bound=Callable[..., Any])


@click.group("tenant", cls=SuggestingGroup)
def command() -> None:
    """Create and change tenants of a gateway.

    The admin key comes from --admin-key-file or the environment variable WELDPROOF_ADMIN_KEY. The gateway writes its
    first admin key to the file admin_key in its data directory. Exit codes: 0 done, 1 refused, 2 usage, 3 unreachable.
    """


@command.group("keys")
def keys() -> None:
    """Create, rotate and delete API keys."""


@command.group("webhooks")
def webhooks() -> None:
    """Add, rotate and delete webhook destinations; list and repeat deliveries."""


def _administrator_command(function: Command) -> Command:
    """Decorate a command: add the shared options, call the gateway, print its answer, and set the exit code."""

    @click.option(
        "--url", envvar="WELDPROOF_GATEWAY", help="The gateway (default: the profile's, then localhost:8090)."
    )
    @click.option(
        "--admin-key-file",
        envvar="WELDPROOF_ADMIN_KEY_FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="File with an admin key.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print the gateway's answer as JSON.")
    @functools.wraps(function)
    def run(*, url: str | None, admin_key_file: Path | None, as_json: bool, **arguments: Any) -> None:
        # Imported here, so that `--help` does not wait for an HTTP client.
        from conformance.surfaces.gateway.admin_api_client import (  # noqa: PLC0415
            GatewayAdministrator,
            GatewayRefused,
            GatewayUnreachable,
        )

        administrator = GatewayAdministrator(_gateway_url(url), _read_admin_key(admin_key_file))
        try:
            answer = asyncio.run(function(administrator, **arguments))
        except (GatewayRefused, GatewayUnreachable) as reason:
            error_text = one_line(str(reason), _LONGEST_TEXT)
            click.echo(f"{click.style('weldproof tenant:', fg='red', bold=True)} {error_text}", err=True)
            # A refusal is an answer of the gateway (1). Without an answer nothing is known (3).
            click.get_current_context().exit(Exit.FAILED if isinstance(reason, GatewayRefused) else Exit.NO_VERDICT)
        _show(answer, as_json=as_json)

    return run  # type: ignore[return-value]


@command.command("create")
@click.argument("name")
@_administrator_command
async def create(administrator: GatewayAdministrator, name: str) -> Any:
    """Create the tenant NAME on trial, with a test key that is shown once."""
    return await administrator.ask("POST", body={"name": name})


@command.command("show")
@click.argument("tenant_id")
@_administrator_command
async def show(administrator: GatewayAdministrator, tenant_id: str) -> Any:
    """Show a tenant: its status, networks, API keys without their secrets, and allowance."""
    return await administrator.ask("GET", tenant_id)


@command.command("networks")
@click.argument("tenant_id")
@click.argument("payouts", nargs=-1, required=True, metavar="NETWORK=ADDRESS...")
@_administrator_command
async def networks(administrator: GatewayAdministrator, tenant_id: str, payouts: Sequence[str]) -> Any:
    """Replace the payout addresses of a tenant, in this order; the first network is the default of its links."""
    return await administrator.ask("PUT", tenant_id, "networks", body=_payout_members(payouts))


@command.command("kyc")
@click.argument("tenant_id")
@click.argument("status", type=click.Choice(["approved", "rejected", "trial"]))
@click.option("--plan", type=click.Choice(["trial", "paid"]), help="New plan (default: unchanged).")
@_administrator_command
async def kyc(administrator: GatewayAdministrator, tenant_id: str, status: str, plan: str | None) -> Any:
    """Record the decision about a tenant's identity check (KYC), and optionally its plan."""
    body = {"status": status} if plan is None else {"status": status, "plan": plan}
    return await administrator.ask("POST", tenant_id, "kyc", body=body)


@command.command("payments")
@click.argument("tenant_id")
@click.option(
    "--state", type=click.Choice(_PAYMENT_STATES), default="paid", show_default=True, help="State of the payments."
)
@_administrator_command
async def payments(administrator: GatewayAdministrator, tenant_id: str, state: str) -> Any:
    """List payments of a tenant, newest first. Only those in the state `paid` paid a link (P-CK-10)."""
    return await administrator.ask("GET", tenant_id, "payments", query={"state": state})


@keys.command("create")
@click.argument("tenant_id")
@click.argument("mode", type=click.Choice(["test", "live"]))
@_administrator_command
async def create_key(administrator: GatewayAdministrator, tenant_id: str, mode: str) -> Any:
    """Create an API key, which is shown once. A live key needs an approved tenant."""
    return await administrator.ask("POST", tenant_id, "api-keys", body={"mode": mode})


@keys.command("rotate")
@click.argument("tenant_id")
@click.argument("key_id")
@_administrator_command
async def rotate_key(administrator: GatewayAdministrator, tenant_id: str, key_id: str) -> Any:
    """Replace an API key. The old key stays valid for 30 days, or for the overlap that the gateway configures."""
    return await administrator.ask("POST", tenant_id, "api-keys", key_id, "rotate")


@keys.command("delete")
@click.argument("tenant_id")
@click.argument("key_id")
@_administrator_command
async def delete_key(administrator: GatewayAdministrator, tenant_id: str, key_id: str) -> Any:
    """Delete an API key at once."""
    return await administrator.ask("DELETE", tenant_id, "api-keys", key_id)


@webhooks.command("add")
@click.argument("tenant_id")
@click.argument("destination_url", metavar="URL")
@click.option(
    "--event",
    "events",
    multiple=True,
    type=click.Choice(["payment.confirmed", "payment.cancelled"]),
    help="Event type to deliver; repeat for several. Default: payment.confirmed.",
)
@_administrator_command
async def add_webhook(
    administrator: GatewayAdministrator, tenant_id: str, destination_url: str, events: Sequence[str]
) -> Any:
    """Add the destination URL of a tenant; the secret that signs its events is shown once."""
    body: dict[str, Any] = {"url": destination_url, **({"events": list(events)} if events else {})}
    return await administrator.ask("POST", tenant_id, "webhooks", body=body)


@webhooks.command("rotate")
@click.argument("tenant_id")
@click.argument("destination_id")
@_administrator_command
async def rotate_webhook(administrator: GatewayAdministrator, tenant_id: str, destination_id: str) -> Any:
    """Replace the secret of a destination. The new one is shown once, and signs from the next attempt on."""
    return await administrator.ask("POST", tenant_id, "webhooks", destination_id, "rotate")


@webhooks.command("delete")
@click.argument("tenant_id")
@click.argument("destination_id")
@_administrator_command
async def delete_webhook(administrator: GatewayAdministrator, tenant_id: str, destination_id: str) -> Any:
    """Delete a destination and its waiting deliveries."""
    return await administrator.ask("DELETE", tenant_id, "webhooks", destination_id)


@webhooks.command("deliveries")
@click.argument("tenant_id")
@_administrator_command
async def deliveries(administrator: GatewayAdministrator, tenant_id: str) -> Any:
    """List the deliveries of a tenant with their attempts, newest first."""
    return await administrator.ask("GET", tenant_id, "deliveries")


@webhooks.command("retry")
@click.argument("tenant_id")
@click.argument("delivery_id")
@_administrator_command
async def retry_delivery(administrator: GatewayAdministrator, tenant_id: str, delivery_id: str) -> Any:
    """Send an event again now, regardless of the state of its delivery."""
    return await administrator.ask("POST", tenant_id, "deliveries", delivery_id, "retry")


def _gateway_url(url: str | None) -> str:
    from conformance import target  # noqa: PLC0415 - as above
    from conformance.cli.targets import WORKING_PROFILE  # noqa: PLC0415 - as above

    if url is None and WORKING_PROFILE.exists():
        try:
            surface = target.load(WORKING_PROFILE).surfaces.get("gateway")
        except target.ProfileError as fault:
            raise UsageFault(str(fault)) from fault
        url = None if surface is None else surface.url
    # The order is option, environment, profile, default: the more specific one wins.
    url = url or _DEFAULT_URL
    if not url.startswith(("http://", "https://")):
        raise UsageFault(f"--url {url}: give an http:// or https:// address")
    return url.rstrip("/")


def _read_admin_key(file: Path | None) -> str:
    try:
        text = os.environ.get(KEY_VARIABLE, "") if file is None else read_text(file)
    except (OSError, ValueError) as fault:
        raise UsageFault(f"--admin-key-file: {file} cannot be read") from fault
    key = text.strip()
    if not key:
        raise UsageFault(
            f"no admin key: give --admin-key-file, or set {KEY_VARIABLE}. The first admin key of a gateway is in the "
            f"file admin_key in its data directory"
        )
    # Such a key would make the HTTP client raise an exception that quotes it.
    if not key.isascii() or not key.isprintable():
        raise UsageFault("the admin key is invalid: it contains characters that a header cannot carry")
    return key


def _payout_members(texts: Sequence[str]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for text in texts:
        network, equals, address = text.partition("=")
        if not network or not equals or not address or network in body:
            raise UsageFault(f"{text}: give NETWORK=ADDRESS, each network once, like base_sepolia=0x…")
        body[network] = {"payout_address": address}
    return body


def _show(answer: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    if answer is None:
        click.echo("done")
        return
    for name, value in answer.items():
        _show_member(name, value)
    if "api_key" in answer:
        # On standard error, so that the answer alone can be redirected into a file.
        click.echo(_SHOWN_ONCE.format("key"), err=True)
    if "secret" in answer:
        click.echo(_SHOWN_ONCE.format("secret"), err=True)


def _show_member(name: str, value: Any) -> None:
    label = click.style(f"{one_line(name)}:", bold=True)
    if isinstance(value, Mapping):
        rows = [f"{key} {_one_line(member)}" for key, member in value.items()]
    elif isinstance(value, list):
        rows = [row for member in value for row in _record_lines(member)]
    else:
        click.echo(f"{label} {'-' if value is None else one_line(str(value), _LONGEST_TEXT)}")
        return
    click.echo(f"{label} {'-' if not rows else ''}".rstrip())
    for row in rows:
        click.echo(f"  {show_shortened(row, _LONGEST_TEXT)}")


def _record_lines(value: Any) -> list[str]:
    """Return a record as one line, followed by an indented line for each record within it."""
    nested_records = [] if not isinstance(value, Mapping) else [one for one in value.values() if _is_records(one)]
    return [_one_line(value), *(f"  {_one_line(record)}" for records in nested_records for record in records)]


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def _one_line(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(str(one) for one in value)
    if not isinstance(value, Mapping):
        return str(value)
    value = {name: member for name, member in value.items() if not _is_records(member)}
    return ", ".join(f"{name} {_one_line(member)}" for name, member in value.items() if member is not None)
