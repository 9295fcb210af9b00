"""The target of a command: `--config`, then `--target`, then ./weldproof.toml, else the built-in reference."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import click

from conformance import target
from conformance.cli.usage import UsageFault
from conformance.http.client import Names
from conformance.lanes import main_network_guard
from conformance.outcome import Inconclusive
from conformance.processes.own_stack import start_own_stack
from conformance.target import LANES, OPTIONS, SURFACES, Budgets, Chain, Claims, Profile, Surface, Target

SIMULATED_STACK = "our own stack"
WORKING_PROFILE = Path("weldproof.toml")


def load_named_profile(config: Path | None, addresses: Sequence[str], *, is_reference: bool) -> Profile | None:
    """Return the profile that the operator named; None for the built-in reference.

    Args:
        config: Path of a profile.
        addresses: `NAME=URL` for each surface.
        is_reference: Whether the reference was requested, so that ./weldproof.toml is ignored.

    Raises:
        UsageFault: The profile or an address cannot be used.
    """
    try:
        if config is not None:
            return target.load(config)
        if addresses:
            return bare_profile(addresses)
        if not is_reference and WORKING_PROFILE.exists():
            return target.load(WORKING_PROFILE)
    except target.ProfileError as fault:
        raise UsageFault(str(fault)) from fault
    return None


def load_chain_file(chains: str | None) -> Profile | None:
    """Return the profile with the chain nodes of `--chains FILE`; None if the option names kinds of chains.

    Raises:
        UsageFault: The file cannot be used.
    """
    # A missing file that ends in .toml is still meant as a file, and gets the error about it.
    if chains is None or not (chains.endswith(".toml") or Path(chains).is_file()):
        return None
    try:
        return target.load(Path(chains))
    except target.ProfileError as fault:
        raise UsageFault(f"--chains: {fault}") from fault


def replace_nodes(profile: Profile | None, nodes: Profile) -> Profile:
    """Return a target's profile with the chain nodes of another file.

    Raises:
        UsageFault: No target is named. The reference pays on nodes that it starts.
    """
    if profile is None:
        raise UsageFault("--chains FILE needs a target that uses these nodes: give --config or --target")
    return profile.model_copy(update={"chains": nodes.chains})


def check_nodes(profile: Profile | None, *, main_network: bool) -> None:
    """Check that payments on a profile's chain nodes are allowed.

    Raises:
        UsageFault: They are not allowed, for example because a node serves a main network.
    """
    if profile is None:
        return
    try:
        main_network_guard.guard_profile(profile, main_network=main_network)
    except target.ProfileError as fault:
        raise UsageFault(str(fault)) from fault
    # Only nodes on which the operator's money is spent are asked for their network. A profile could
    # call a main network a test network, and a wrong answer would cost real money.
    funded_chains = [(table, chain) for table, chain in main_network_guard.tables(profile) if chain.funder is not None]
    for table, chain in funded_chains:
        node_network = _ask_network(chain, profile.budgets)
        # A node that cannot answer now is asked again before anything is paid there.
        reason = node_network and main_network_guard.explain_refusal(
            table, chain, node_network, main_network=main_network
        )
        if reason:
            raise UsageFault(reason)


def _ask_network(chain: Chain, budgets: Budgets) -> main_network_guard.NodeNetwork | None:
    from conformance.lanes.payers import read_network  # noqa: PLC0415 - commands without payments need no SDK of a chain

    try:
        return asyncio.run(read_network(chain, budgets, Names()))
    except Inconclusive:
        return None


def bare_profile(addresses: Sequence[str], option: str = "--target") -> Profile:
    """Return a profile with addresses only: every lane and option counts as claimed, and no name is bound.

    Args:
        addresses: `NAME=URL` for each surface.
        option: The option that contained them, for messages.

    Raises:
        UsageFault: An address cannot be used.
    """
    surfaces: dict[str, Surface] = {}
    for text in addresses:
        name, equals, url = text.partition("=")
        if name not in SURFACES or not equals or not url.startswith(("http://", "https://")):
            raise UsageFault(f"{option} {text}: give NAME=URL with NAME one of {', '.join(SURFACES)}")
        surfaces[name] = Surface(url=url)
    # Nothing is known about the target, so every row is tried, and unsupported ones show up as
    # such.
    claims = Claims(surfaces=tuple(surfaces), lanes=LANES, options=OPTIONS)
    return Profile(target=Target(name=", ".join(surfaces)), surfaces=surfaces, claims=claims)


def load_comparison_profile(texts: Sequence[str], *, main_network: bool) -> Profile | None:
    """Return the profile of the target of `--compare-with`; None without the option.

    Args:
        texts: One profile file, or `NAME=URL` for each surface.
        main_network: Whether payments on main networks are allowed.

    Raises:
        UsageFault: The profile or an address cannot be used.
    """
    if not texts:
        return None
    files = [text for text in texts if text.partition("=")[0] not in SURFACES]
    if files and len(texts) > 1:
        raise UsageFault("--compare-with: give one profile, or NAME=URL for each surface")
    try:
        profile = target.load(Path(files[0])) if files else bare_profile(texts, "--compare-with")
    except target.ProfileError as fault:
        raise UsageFault(f"--compare-with: {fault}") from fault
    check_nodes(profile, main_network=main_network)
    return profile


@asynccontextmanager
async def open_target(profile: Profile | None, options: Sequence[str] = ()) -> AsyncIterator[Profile]:
    """Yield the named profile, or start the reference and yield its profile; the reference ends with the context."""
    if profile is not None:
        yield profile
        return
    async with start_own_stack(options) as stack:
        # With real nodes or a mutant the name says so, and the user should know what is judged.
        if stack.profile.target.name != SIMULATED_STACK:
            click.echo(f"The target is {stack.profile.target.name}.", err=True)
        yield stack.profile
