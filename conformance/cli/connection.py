"""Options for the connection to a target: accepted certificates, and the longest time for an answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from conformance.cli.usage import UsageFault

if TYPE_CHECKING:
    from conformance.target import Profile

Command = TypeVar("Command", bound=Callable[..., Any])


def _seconds(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    del ctx
    # `nan` and `inf` are numbers to click.
    if value is not None and not (math.isfinite(value) and value > 0):
        raise click.BadParameter("give a number of seconds above 0", param=param)
    return value


def add_connection_options(command: Command) -> Command:
    """Add --timeout, --insecure and --cacert to a command; `apply_connection_options` applies them."""
    for option in (
        click.option(
            "--timeout",
            type=float,
            callback=_seconds,
            metavar="SECONDS",
            help="Longest time for an answer; replaces [budgets] request (30).",
        ),
        click.option(
            "--insecure", is_flag=True, help="Accept any certificate of the target; the report names this option."
        ),
        click.option(
            "--cacert",
            type=click.Path(path_type=Path, dir_okay=False),
            help="File (PEM) with the accepted certificate authorities; replaces those of this machine.",
        ),
    ):
        command = option(command)
    return command


def apply_connection_options(
    profile: Profile, *, cacert: Path | None, insecure: bool, timeout: float | None
) -> Profile:
    """Return the profile with these options, and warn if no certificate is checked.

    Args:
        profile: The target.
        cacert: File with the accepted certificate authorities.
        insecure: Whether any certificate is accepted.
        timeout: Longest time for an answer, in seconds.

    Raises:
        UsageFault: The file of authorities cannot be used, or both it and `--insecure` are given.
    """
    # Imported here, so that `--help` does not wait for these modules.
    from conformance.http.trust import make_context  # noqa: PLC0415
    from conformance.report.conclusion import UNCHECKED  # noqa: PLC0415
    from conformance.target import ProfileError, Tls  # noqa: PLC0415

    if cacert is not None and insecure:
        raise UsageFault("--cacert accepts some certificates and --insecure accepts all of them: give one of the two")
    update: dict[str, Any] = {}
    if cacert is not None:
        update["tls"] = Tls(cacert=cacert)
    if insecure:
        update["tls"] = Tls(insecure=True)
    if timeout is not None:
        update["budgets"] = profile.budgets.model_copy(update={"request": timeout})
    updated = profile.model_copy(update=update)
    try:
        # Built once only to find a file that cannot be read, before anything is sent.
        make_context(updated.tls)
    except ProfileError as fault:
        raise UsageFault(f"--cacert: {fault}" if cacert is not None else f"[tls] cacert: {fault}") from fault
    # The warning also appears if the profile disables the check, since any server may answer then.
    if updated.tls.insecure and any(one.url.startswith("https://") for one in updated.surfaces.values()):
        click.secho(UNCHECKED, fg="red", bold=True, err=True)
    return updated
