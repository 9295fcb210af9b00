"""`weldproof up` at work: a stack until the user ends it, or a part ends by itself."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import click
import orjson

from localnet import chain_selection as chain_kinds
from localnet import setting_names
from localnet.hub import ADDONS
from localnet.lanes.registry import LANES
from localnet.plan import Plan
from localnet.processes import ChildFault, kill_all
from localnet.profile import WORKING_NAME, profile_text
from localnet.rpc import NodeFault
from localnet.stack import Stack, run_stack
from programs.missing import Missing

EXIT_MISSING, EXIT_FAULT = 3, 4
_DEMO = '{"method":"POST","authority":"example.com","path":"/orders","body":"{}"}'


def up(
    kinds: Mapping[str, str],
    port_base: int | None,
    data_dir: Path,
    mutant: str | None,
    chameleon: int | None,
    faults: tuple[tuple[str, int], ...],
    lanes: tuple[str, ...],
    surfaces: tuple[str, ...],
    chains_only: bool,
    companions: bool,
    addons: bool,
    settings: tuple[tuple[str, str], ...],
    block_seconds: float,
    block_mode: str,
    workers: int,
    has_nginx: bool,
    postgres: str | None,
    valkey: str | None,
    working_profile: bool,
    as_json: bool,
) -> None:
    """Do what `weldproof up` says of itself; its options are declared beside its help."""
    if chains_only:
        # A user who only wants chains has another server, which a profile of this stack would not describe.
        surfaces, companions, working_profile = (), False, False
    if set(surfaces) == {"control_plane"}:
        lanes = ()
    plan = Plan(
        *(data_dir.resolve(), port_base, block_seconds, mutant, faults, lanes, dict(settings), kinds, surfaces),
        companions=companions,
        addons=ADDONS if addons else (),
        chameleon=chameleon,
        block_mode=block_mode,
        workers=workers,
        has_nginx=has_nginx,
        postgres=postgres,
        valkey=None if valkey is None else valkey.rstrip("/"),
    )
    if mutant is not None and chameleon is not None:
        raise click.UsageError("a mutant and a chameleon do not go together")
    for name in setting_names.left_out(os.environ, plan.settings):
        click.echo(f"weldproof up: {name} of the environment does not count here; give --setting {name}=…", err=True)
    try:
        sys.exit(asyncio.run(_serve(plan, working_profile=working_profile, as_json=as_json)))
    except (ChildFault, Missing, NodeFault) as fault:
        click.echo(f"weldproof up: {fault}", err=True)
        sys.exit(EXIT_MISSING if isinstance(fault, Missing) else EXIT_FAULT)


async def _serve(plan: Plan, *, working_profile: bool, as_json: bool) -> int:
    plan.data_dir.mkdir(parents=True, exist_ok=True)
    stop, up = asyncio.Event(), asyncio.Event()
    start_task = asyncio.current_task()

    def end() -> None:
        if stop.is_set():
            kill_all()  # the user will not wait: the clean-up that is under way has nothing left to wait for
        elif start_task is not None and not up.is_set():
            start_task.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    try:
        return await _up(plan, stop, up, working_profile=working_profile, as_json=as_json)
    except asyncio.CancelledError:
        if not stop.is_set():
            raise
        return 0


async def _up(plan: Plan, stop: asyncio.Event, up: asyncio.Event, *, working_profile: bool, as_json: bool) -> int:
    def progress(step: str) -> None:
        if not as_json:
            click.echo(f"weldproof up: {step} …", err=True)

    async with run_stack(plan, progress) as stack:
        up.set()
        profile_file = _write_profiles(stack, writes_here=working_profile)
        try:
            _announce(stack, as_json=as_json)
            return await _until(stop, stack)
        finally:
            if profile_file is not None:
                profile_file.unlink(missing_ok=True)


def _disguise(plan: Plan) -> str:
    """Return what the surfaces run as when it is not the reference itself."""
    if plan.mutant is not None:
        return f" with mutant {plan.mutant}"
    return "" if plan.chameleon is None else f" in the look of seed {plan.chameleon}"


async def _until(stop: asyncio.Event, stack: Stack) -> int:
    tasks = [
        asyncio.create_task(stop.wait()),
        end_task := asyncio.create_task(stack.first_end()),
        asyncio.create_task(stack.follow_clock()),
        asyncio.create_task(stack.follow_block_clocks()),
        asyncio.create_task(stack.follow_restarts()),
    ]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
    if stop.is_set():
        return 0
    child = end_task.result() if end_task.done() and not end_task.cancelled() else None
    click.echo(
        f"weldproof up: {child.name if child else 'a part'} ended by itself: {child.last_words() if child else ''}",
        err=True,
    )
    return EXIT_FAULT


def _write_profiles(stack: Stack, *, writes_here: bool) -> Path | None:
    text = profile_text(stack.facts)
    (stack.plan.data_dir / WORKING_NAME).write_text(text, "utf-8")
    local_file = Path.cwd() / WORKING_NAME
    if not writes_here or local_file.exists():
        return None
    local_file.write_text(text, "utf-8")
    return local_file


def _announce(stack: Stack, *, as_json: bool) -> None:
    facts = stack.facts.as_json()
    profile = str(stack.plan.data_dir / WORKING_NAME)
    if as_json:
        line = {"ready": True, "profile": profile, **facts, "pids": {one.name: one.pid for one in stack.children}}
        click.echo(orjson.dumps(line).decode())
    else:
        mixture = chain_kinds.describe_mixture(stack.plan.kinds, stack.plan.lanes)
        if mixture is not None:
            click.secho(mixture, bold=True)
        subject = "stack is" if stack.plan.surfaces else "chains are"
        click.echo(f"The {subject} up{_disguise(stack.plan)}.")
        for name, value in {**facts, "profile": profile}.items():
            click.echo(f"  {name:18} {value}")
        for hint in _keys_and_hints(stack, facts):
            click.echo(hint)
    sys.stdout.flush()


def _keys_and_hints(stack: Stack, facts: Mapping[str, str]) -> Iterator[str]:
    """Yield what people try first; keys go to a terminal only, never into a log."""
    sales = stack.facts.sells
    if sales is not None and sys.stdout.isatty():
        for name, tenant in sales.tenants.items():
            yield f"  {f'tenant_{name}_key':18} {tenant.key_file.read_text('ascii').strip()}"
    if not stack.plan.surfaces:
        yield from _beside_your_server(facts)
        return
    yield "\nTry:  weldproof run"
    if "rail" in facts:
        yield f"      weldproof pay {facts['rail']}/pay/v1/compliance/receipt"
    if "agent" in facts:
        yield f"      curl {facts['agent']}/verify/rfc9421/sign -d '{_DEMO}'"
    if sales is not None:
        first = sales.tenants["first"]
        network = next(iter(first.payout))
        body = f'{{"amount": 8.41, "currency": "USD", "label": "Order 7", "preferred_network": "{network}"}}'
        yield (
            f"      curl {facts['gateway']}/v1/payment-links -H 'Content-Type: application/json' "
            f"-H 'X-Tenant-Id: {first.id}' \\\n"
            f"        -H \"Authorization: Bearer $(cat {first.key_file})\" -d '{body}'"
        )
        yield "      weldproof pay --max 10 CHECKOUT_URL"
        destination = sales.destinations["first"]
        yield f"      weldproof listen --port {urlsplit(destination.url).port} --secret-file {destination.secret_file}"
        yield f"      open {facts['dashboard']} and sign in with the key in {sales.admin_key_file}"
    yield "Ctrl-C ends it."


def _clock(facts: Mapping[str, str]) -> str:
    return f"--clock {facts['clock_file']}"


def _beside_your_gateway(facts: Mapping[str, str]) -> Iterator[str]:
    """Yield the same for a gateway: its links are paid on test networks, and one of them may have a node of its own."""
    words = ["--tenant ID=KEY_VARIABLE"]
    for lane in LANES.values():
        test = lane.networks[0].partition("_")[2]
        options = {option: name for option, name in lane.options.items() if name in facts}
        words += [f"{option} {facts.get(f'{name}_{test}', facts[name])}" for option, name in options.items()]
    words.append(_clock(facts))
    yield "A gateway, with tenants that are paid at payout_first_… and payout_second_…:  weldproof init URL \\"
    yield "  " + " \\\n  ".join(words)


def _beside_your_server(facts: Mapping[str, str]) -> Iterator[str]:
    """Yield how another server is tested on these chains."""
    options = {option: name for lane in LANES.values() for option, name in lane.options.items()}
    words = [f"{option} {facts[name]}" for option, name in options.items() if name in facts]
    words.append(_clock(facts))
    yield "\nRun your server on these nodes, then:  weldproof init URL \\\n  " + " \\\n  ".join(words)
    yield from _beside_your_gateway(facts)
    yield from (lane.advice for lane in LANES.values() if lane.advice and lane.name in facts["lanes"].split(","))
    yield (
        f"The chains follow the seconds in {facts['clock_file']}: have your server add them to its clock too, so that "
        "rows about lifetimes need not wait; if it cannot, leave --clock out."
    )
    yield "Ctrl-C ends it."
