"""`weldproof selftest`: runs the suite against mutants of the reference and compares with their kill lists."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import orjson

from conformance.cli.json_output import print_json
from conformance.cli.run.mutant_receiver import with_receiver
from conformance.cli.run.payer import claim_reference_payer
from conformance.cli.run.shards import parse_shard
from conformance.cli.selftest.chameleon import against_chameleon, choose_seeds
from conformance.cli.selftest.generated import against_generated
from conformance.cli.usage import UsageFault
from conformance.engine.runner import Plan, Run, select_checks
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.outcome import Exit, Verdict
from conformance.processes.interrupt import make_interruptible
from conformance.processes.own_stack import StackFault, list_surface_options, start_own_stack
from conformance.selftest.kill_lists import DEFAULT_LANES, KillList, load_kill_lists, take_shard
from conformance.selftest.shortened_budgets import with_short_budgets


def selftest(
    ctx: click.Context,
    /,
    ids: tuple[str, ...],
    part: str | None,
    seed: int,
    as_json: bool,
    only_list: bool,
    chameleon: bool,
    number: int | None,
    first: int,
    rows: tuple[str, ...],
    logs: Path | None,
    generated: bool,
    only: tuple[str, ...],
    sample: int | None,
    stack: str | None,
    again: bool,
    whole: bool,
    folder: Path | None,
) -> None:
    """Run the selected self-test, and end the command with its exit code."""
    if generated:
        flags = {"json": as_json, "list": only_list, "whole": whole, "again": again}
        values = {"shard": part, "seed": seed, "sample": sample, "stack": stack, "folder": folder}
        against_generated((*ids, *only), {**values, **flags})
    if chameleon:
        seeds = choose_seeds(ids, part, first=first, number=number)
        ctx.exit(against_chameleon(seeds, rows, logs, as_json=as_json))
    lists = _choose_lists(ids, part)
    if only_list:
        _print_lists(lists, as_json=as_json)
        return
    results: list[dict[str, Any]] = []
    try:
        asyncio.run(make_interruptible(_run_all(lists, seed, results, quiet=as_json)))
    except StackFault as fault:
        click.echo(f"weldproof selftest: {fault}", err=True)
        ctx.exit(Exit.NO_VERDICT)
    except asyncio.CancelledError:
        ctx.exit(Exit.INTERRUPTED)
    if as_json:
        print_json(results)
    exact = sum(not result["differences"] for result in results)
    if not as_json:
        click.echo(f"{exact} of {len(results)} kill lists are exact")
    # An empty selection proves nothing, so it does not pass.
    ctx.exit(Exit.PASSED if exact == len(results) and results else Exit.FAILED)


def _choose_lists(ids: Sequence[str], part: str | None) -> tuple[KillList, ...]:
    lists = load_kill_lists()
    unknown = sorted(set(ids) - {one.mutant for one in lists})
    if unknown:
        raise UsageFault(f"no mutant {', '.join(unknown)}; `weldproof selftest --list` shows them")
    kill_lists = tuple(one for one in lists if not ids or one.mutant in ids)
    if part is None:
        return kill_lists
    return take_shard(kill_lists, *parse_shard(part))


def _print_lists(lists: Sequence[KillList], *, as_json: bool) -> None:
    if as_json:
        click.echo(
            orjson.dumps(
                [
                    {**_list_members(kill_list), "also": dict(kill_list.also), "at_times": dict(kill_list.at_times)}
                    for kill_list in lists
                ]
            )
        )
        return
    for kill_list in lists:
        click.echo(f"{kill_list.mutant:36} {kill_list.caught_by:16} {kill_list.rule}")


def _list_members(kill_list: KillList) -> dict[str, Any]:
    return {"mutant": kill_list.mutant, "rule": kill_list.rule, "caught_by": kill_list.caught_by}


async def _run_all(lists: Sequence[KillList], seed: int, results: list[dict[str, Any]], *, quiet: bool) -> None:
    for kill_list in lists:
        start_seconds = time.perf_counter()
        verdicts = await verdicts_against(kill_list.mutant, kill_list.surface, seed, kill_list.lanes)
        differences = kill_list.list_differences(verdicts)
        result = {
            **_list_members(kill_list),
            "seconds": round(time.perf_counter() - start_seconds, 1),
            "differences": differences,
        }
        results.append(result)
        if not quiet:
            word = click.style("caught", fg="green") if not differences else click.style("NOT EXACT", fg="red")
            click.echo(f"{kill_list.mutant:36} {word}  {result['seconds']} s")
            for line in differences:
                click.echo(f"    {line}")


async def verdicts_against(
    mutant: str | None, surface: str, seed: int, lanes: Sequence[str] = DEFAULT_LANES
) -> dict[str, Verdict]:
    """Run the suite over `surface` against the reference with `mutant`, and return the verdict of each row.

    Raises:
        StackFault: The reference did not start.
        CancelledError: The run was interrupted, so its verdicts do not show whether the mutant is caught.
    """
    log = EventLog()
    rows = load().select(surface.split())
    # The mutant is an option of the child process: this process must never import the reference.
    options = [word for lane in lanes for word in ("--lane", lane)] + (["--mutant", mutant] if mutant else [])
    async with start_own_stack([*options, *list_surface_options(rows)]) as stack:
        # A mutant that never answers would otherwise cost minutes for each of hundreds of mutants.
        profile = with_short_budgets(stack.profile, has_generated_requests=any(row.id == "X-OAS-01" for row in rows))
        if any(row.surface == "payer" for row in rows):
            profile = claim_reference_payer(profile, mutant)
        async with with_receiver(profile, mutant) as judged:
            plan = Plan(rows, select_checks(rows, judged), seed=seed, workers=judged.pace.workers)
            await Run(plan, judged, log).execute_whole()
    return {event["id"]: Verdict(event["verdict"]) for event in log.of("row")}
