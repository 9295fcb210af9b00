"""Which target a command is about: `--config`, then `--target`, then ./weldproof.toml, then our own stack."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import click

from conformance import target
from conformance.own_stack import own_stack
from conformance.target import LANES, OPTIONS, SURFACES, Claims, Profile, Surface, Target
from conformance.verdict import Exit

SIMULATED_STACK = "our own stack"
WORKING_PROFILE = Path("weldproof.toml")


class UsageFault(click.ClickException):
    """What the operator gave cannot be used."""

    exit_code = Exit.USAGE


def named_profile(config: Path | None, addresses: Sequence[str], *, ours: bool) -> Profile | None:
    """Return the profile the operator named, or None when our own stack is to be brought up.

    Args:
        config: Path of a profile.
        addresses: `NAME=URL` for each surface.
        ours: Whether our own stack was asked for, whatever lies in the working folder.

    Raises:
        UsageFault: The profile or an address cannot be used.
    """
    try:
        if config is not None:
            return target.load(config)
        if addresses:
            return bare_profile(addresses)
        if not ours and WORKING_PROFILE.exists():
            return target.load(WORKING_PROFILE)
    except target.ProfileError as fault:
        raise UsageFault(str(fault)) from fault
    return None


def bare_profile(addresses: Sequence[str]) -> Profile:
    """Return a profile that knows addresses only: every lane and option counts as claimed, every name is unbound."""
    surfaces: dict[str, Surface] = {}
    for text in addresses:
        name, equals, url = text.partition("=")
        if name not in SURFACES or not equals or not url.startswith(("http://", "https://")):
            raise UsageFault(f"--target {text}: give NAME=URL with NAME one of {', '.join(SURFACES)}")
        surfaces[name] = Surface(url=url)
    claims = Claims(surfaces=tuple(surfaces), lanes=LANES, options=OPTIONS)
    return Profile(target=Target(name=", ".join(surfaces)), surfaces=surfaces, claims=claims)


@asynccontextmanager
async def opened(profile: Profile | None, options: Sequence[str] = ()) -> AsyncIterator[Profile]:
    """Yield the named profile, or bring our own stack up and yield its profile."""
    if profile is not None:
        yield profile
        return
    async with own_stack(options) as stack:
        if stack.profile.target.name != SIMULATED_STACK:
            click.echo(f"The target is {stack.profile.target.name}.", err=True)
        yield stack.profile
