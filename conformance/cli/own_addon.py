"""`weldproof run CP-ADDON --addon -- COMMAND`: an addon of the user's own, in any language; the suite is its hub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from conformance.cli.targets import UsageFault
from conformance.target import Claims, Profile, Target
from conformance.target.hub import Addon

ADDON_ROWS: Final = "CP-ADDON"
NAME: Final = "yours"
_COMMAND = "conformance.addon.command"


class WithCommand(click.Command):
    """A command that keeps what comes after `--` apart where `--addon` is given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the addon's command away before anything else is read."""
        end = args.index("--") if "--" in args else len(args)
        if "--addon" in args[:end]:
            ctx.meta[_COMMAND] = tuple(args[end + 1 :])
            args = args[:end]
        return super().parse_args(ctx, args)


def command_of(ctx: click.Context) -> tuple[str, ...]:
    """Return the addon's command, word by word."""
    words: tuple[str, ...] = ctx.meta.get(_COMMAND, ())
    return words


def with_addon(profile: Profile | None, words: Sequence[str], url: str | None) -> Profile:
    """Return a profile in which this addon is the only one.

    Args:
        profile: The target, where there is one: its control plane is the real one of rows that need one.
        words: The addon's command.
        url: Where it listens; None: at the port of the S2_HUB_SELF_URL that it is given.

    Raises:
        UsageFault: There is no command, or the address is none.
    """
    if not words:
        raise UsageFault(
            "--addon needs the addon's command, after --: weldproof run CP-ADDON --addon -- node addon.mjs"
        )
    if url is not None and not url.startswith(("http://", "https://")):
        raise UsageFault(f"--addon-url {url}: give an address that begins with http:// or https://")
    base = profile or Profile(target=Target(name="an addon"))
    claimed = tuple(dict.fromkeys((*base.claims.surfaces, "control_plane")))
    claims = Claims(surfaces=claimed, lanes=base.claims.lanes, options=base.claims.options)
    hub = base.hub.model_copy(update={"bundled": ()})
    # Fields that were set are told as such: the report shows what a verdict rests on.
    hub.model_fields_set.add("bundled")
    addons = {NAME: Addon(command=tuple(words), url=url)}
    return base.model_copy(update={"claims": claims, "hub": hub, "addons": addons})
