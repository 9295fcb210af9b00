"""`weldproof run`: the suite."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import sys
import traceback
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import orjson

from conformance import extras
from conformance.cli.addon_command import command_of
from conformance.cli.connection import connected
from conformance.cli.mutants import checked_mutant
from conformance.cli.own_addon import ADDON_ROWS, with_addon
from conformance.cli.shards import part_of
from conformance.cli.targets import (
    beside_profile,
    chain_file,
    checked_nodes,
    named_profile,
    opened,
    with_nodes,
)
from conformance.cli.unread import unread
from conformance.cli.usage import UsageFault
from conformance.engine.check import Check
from conformance.engine.expected_failures import FILE, contradictory, faults, proposed
from conformance.engine.quick import FUZZ_SECONDS
from conformance.engine.quick_look import quick_look
from conformance.engine.registration import brought_in, without_lane
from conformance.engine.runner import Afterwards, Plan, Run, absent, select_checks
from conformance.engine.sharding import part
from conformance.http.client import Names
from conformance.lanes.spending import Wallet
from conformance.ledger import NEWEST, Requirement, load
from conformance.log.events import LOG, EventLog
from conformance.outcome import OUR_LISTENER, Exit
from conformance.processes import interrupt
from conformance.processes.own_stack import StackFault, surface_options
from conformance.report import console, fault, formats
from conformance.report.progress import Progress
from conformance.report.summary import summarise
from conformance.target import Chains, ExpectedFailure, Profile, ProfileError, parse

# Surfaces that publish an OpenAPI document, by the prefix of their rows, and the row that drives it.
PUBLISHING = {"GW": "gateway", "RAIL": "rail", "AGENT": "agent", "CP": "control_plane"}
DOCUMENT_ROW = "X-OAS-01"
# Options that change nothing of a run, only how it is shown.
_SHOWING = frozenset({"report_dir", "as_json", "verbose"})
NO_TARGET = (
    "no target is named and there is no ./weldproof.toml: `weldproof init URL` writes one; else give --config or "
    "--target, or --reference for our own stack"
)


def run(ctx: click.Context, /, **options: Any) -> None:
    """Do what `weldproof run` says of itself; its options are declared beside its help."""
    nodes = chain_file(options["chains"])
    kinds = bool(options["chains"]) and nodes is None
    ours = options["own_stack"] or bool(options["mutant"] or options["settings"] or kinds)
    if ours and (options["config"] or options["addresses"]):
        raise UsageFault("--reference, --mutant, --setting and --chains KINDS go without --config and --target")
    if options["mutant"]:
        checked_mutant(options["mutant"])
    words = command_of(ctx)
    if options["addon"] and ours:
        raise UsageFault("--addon goes without --reference, --mutant, --setting and --chains KINDS")
    if options["addon_url"] and not options["addon"]:
        raise UsageFault("--addon-url goes with --addon -- COMMAND")
    if options["beside"] and options["addon"]:
        raise UsageFault("--compare-with compares the receipts of rails and gateways: it goes without --addon")
    alone = options["addon"] and not (options["config"] or options["addresses"] or _beyond_addons(options["ids"]))
    profile = None if alone else named_profile(options["config"], options["addresses"], ours=ours)
    if options["addon"]:
        profile = with_addon(profile, words, options["addon_url"])
        options["ids"] = options["ids"] or (ADDON_ROWS,)
    if nodes is not None:
        profile = with_nodes(profile, nodes)
    profile = _connected(profile, options)
    checked_nodes(profile, main_network=options["main_network"])
    other = beside_profile(options["beside"], main_network=options["main_network"])
    rows = _shared_out(_rows(options), options, profile)
    if profile is None:
        _check_own_stack(rows, ours=ours)
    expected = _expected(options["xfail"], profile)
    seed = options["seed"] if options["seed"] is not None else secrets.randbelow(2**32)
    stack_options = [*_stack_options(options), *surface_options(rows, companions=not options["quick"])]

    async def body(log: EventLog) -> Exit:
        async with brought_in(), opened(profile, stack_options) as opened_profile:
            seconds = options["fuzz_seconds"] or (FUZZ_SECONDS if options["quick"] else None)
            found = with_fuzz(opened_profile, seconds)
            checks = wanted(select_checks(rows, found, options["lanes"]), options["ids"])
            lacking = without_lane(checks)
            _say_lacking(lacking, rows)
            look = quick_look([one for one in checks if one not in lacking], seed) if options["quick"] else None
            plan = Plan(
                rows=rows,
                checks=checks if look is None else (*look.tried, *lacking),
                quick=look,
                seed=seed,
                workers=options["workers"] or found.pace.workers,
                fail_fast=options["fail_fast"],
                strict=options["strict"],
                expected=(*found.xfail, *expected),
                lanes=tuple(options["lanes"]),
            )
            shown = {name: value for name, value in options.items() if value and name not in _SHOWING}
            not_yours = found.target.name if profile is None else only_our_own(rows, found)
            whole = Run(plan, found, log, _afterwards(other, plan, found), names, wallet, not_yours)
            return await whole.execute(options=_plain(shown))

    names, wallet = Names(), Wallet(main_network=options["main_network"])
    kinds_wanted = options["kinds"] or ("html", "json")
    shown = {"as_json": options["as_json"], "verbose": options["verbose"]}
    known = (*(() if profile is None else profile.xfail), *expected)
    ctx.exit(run_and_report(body, options["report_dir"], kinds_wanted, names, known, **shown))


def _check_own_stack(rows: Sequence[Requirement], *, ours: bool) -> None:
    """See that our own stack is meant where no target is named, and that it is installed.

    Raises:
        UsageFault: Nobody asked for it, and some row is judged by a target.
        MissingExtra: It is not installed.
    """
    if not ours and not all(row.documented for row in rows):
        raise UsageFault(NO_TARGET)
    extras.need("reference")


def _say_lacking(lacking: Mapping[Check, str], rows: Sequence[Requirement]) -> None:
    """Say before anything is sent which rows cannot be judged for want of an extra, and what to type."""
    asked = {row.id for row in rows}
    for reason in sorted(set(lacking.values())):
        without = {row for one, its in lacking.items() if its == reason for row in one.rows if row in asked}
        if without:
            named = ", ".join(row.id for row in rows if row.id in without)
            counted = "row" if len(without) == 1 else "rows"
            click.echo(f"weldproof run: {len(without)} {counted} will not be judged: {named}. {reason}", err=True)


def _connected(profile: Profile | None, options: Mapping[str, Any]) -> Profile | None:
    if profile is not None:
        return connected(profile, options)
    if options["cacert"] or options["insecure"] or options["timeout"]:
        raise UsageFault("--cacert, --insecure and --timeout are for a target: give --config or --target")
    return None


def _afterwards(other: Profile | None, plan: Plan, found: Profile) -> Mapping[str, Afterwards]:
    """Return what follows the checks: the comparison with another target, where one is given."""
    if other is None:
        return {}
    from conformance.receipts.beside import Beside  # noqa: PLC0415 - it brings every check of the rail along
    from conformance.receipts.obtaining import BESIDE  # noqa: PLC0415 - as above

    surfaces = frozenset(name for row in plan.rows for name in (row.surface, *row.surfaces))
    # An address alone says nothing of nodes: it is taken to be paid on those of the run's own target.
    nodes = found.chains if other.chains == Chains() else other.chains
    return {BESIDE: Beside(other.model_copy(update={"chains": nodes}), surfaces, plan.lanes)}


def only_our_own(rows: Sequence[Requirement], profile: Profile) -> str | None:
    """Return what of the suite's own these rows judge on a target, where they judge nothing of the operator's."""
    applicable = [row for row in rows if row.documented is None and absent(row, profile) is None]
    receivers = bool(applicable) and all("R" in row.needs for row in applicable)
    return OUR_LISTENER if receivers and profile.webhook_bindings.receiver is None else None


def run_and_report(
    body: Callable[[EventLog], Coroutine[Any, Any, Exit]],
    directory: Path,
    kinds: Sequence[str],
    names: Names,
    known: Sequence[ExpectedFailure] = (),
    *,
    as_json: bool = False,
    verbose: bool = False,
) -> int:
    """Run `body` with a log in `directory`, progress on the console, Ctrl-C honoured, and write the reports.

    Where the suite itself is at fault, what its maintainers need lies beside them, without what `names` hides.

    Returns:
        The exit code.

    Raises:
        UsageFault: Nothing can be written into `directory`.
    """
    try:
        log = EventLog(directory / LOG)
    except OSError as closed:
        raise UsageFault(f"--report-dir: cannot write {directory / LOG}: {closed.strerror}") from closed
    progress = None if as_json else Progress()
    if progress is not None:
        log.listen(progress)
    try:
        code = interrupt.run(body(log))
    except (StackFault, ProfileError) as trouble:
        click.echo(f"weldproof run: {trouble}", err=True)
        return int(Exit.NO_VERDICT if isinstance(trouble, StackFault) else Exit.USAGE)
    except asyncio.CancelledError:
        click.echo("weldproof run: interrupted before the first check", err=True)
        return int(Exit.INTERRUPTED)
    except (click.ClickException, extras.MissingExtra):
        raise
    except Exception as escaped:  # noqa: BLE001 - whatever it is, it is no breach of the target's
        return _broken(log, directory, kinds, names, escaped)
    finally:
        if progress is not None:
            progress.close()
        log.close()
    try:
        written = formats.write(log.events, directory, kinds)
        if code == Exit.SUITE_FAULT:
            written.append(_fault_file(log, directory, names))
        _propose(log, directory, known)
        _show(log, directory, written, code, as_json=as_json, verbose=verbose)
    except Exception as escaped:  # noqa: BLE001 - as above
        return _broken(log, directory, (), names, escaped)
    return int(code)


def _propose(log: EventLog, directory: Path, known: Sequence[ExpectedFailure]) -> None:
    """Write the list of known breaches without the entries that do not hold, and say what is the matter with them."""
    path, text = directory / FILE, proposed(known, log.events)
    if text is None:
        return
    path.write_text(text, "utf-8")
    for trouble in faults(known, log.events):
        click.echo(f"weldproof run: xfail: {trouble}", err=True)
    click.echo(f"weldproof run: the list without what does not hold: {path}", err=True)


def _show(log: EventLog, directory: Path, written: Sequence[Path], code: Exit, *, as_json: bool, verbose: bool) -> None:
    """Show the run, and where its files lie."""
    try:
        if as_json:
            click.echo(formats.FORMATS["json"].render(log.events))
        else:
            console.show(summarise(log.events), written=[directory / LOG, *written], verbose=verbose)
        if code == Exit.SUITE_FAULT:
            click.echo(f"weldproof run: {fault.hint(str(directory))}", err=True)
    except BrokenPipeError:
        # The verdict is the same, whether or not it is read to its end.
        unread()


def _broken(log: EventLog, directory: Path, kinds: Sequence[str], names: Names, escaped: Exception) -> int:
    """Keep what there is of a run that tripped over itself, say where it lies, and return the exit code."""
    _fault_file(log, directory, names, escaped)
    with contextlib.suppress(Exception):  # what broke the run may break its reports
        formats.write(log.events, directory, kinds)
    words = names.redact("".join(traceback.format_exception_only(escaped)).strip())
    click.echo(f"weldproof run: {words}\n{fault.hint(str(directory))}", err=True)
    return int(Exit.SUITE_FAULT)


def _fault_file(log: EventLog, directory: Path, names: Names, escaped: Exception | None = None) -> Path:
    path = directory / fault.FILE
    path.write_text(fault.text(log.events, sys.argv[1:], names, escaped), "utf-8")
    return path


def with_fuzz(profile: Profile, seconds: float | None) -> Profile:
    """Return the profile with another budget for generated requests, when one is given."""
    if seconds is None:
        return profile
    return profile.model_copy(update={"budgets": profile.budgets.model_copy(update={"fuzz": seconds})})


def chosen(ids: Sequence[str], version: int = NEWEST) -> tuple[Requirement, ...]:
    """Return the rows of these ids in a version of the ledger; a whole surface brings along its OpenAPI document's.

    Raises:
        LookupError: An id matches no row; its text is the id.
    """
    whole = {one.strip().upper().rstrip("-") for one in ids} & PUBLISHING.keys()
    return load().at(version).select([*ids, *([DOCUMENT_ROW] if whole else [])])


def wanted(checks: Sequence[Check], ids: Sequence[str]) -> tuple[Check, ...]:
    """Return the checks without what a whole surface's document row would bring along of the other surfaces.

    Args:
        checks: The checks that decide the selected rows.
        ids: The ids that were named.
    """
    asked = [one.strip().upper().rstrip("-") for one in ids]
    whole = {PUBLISHING[one] for one in asked if one in PUBLISHING}
    if not whole or any(DOCUMENT_ROW.startswith(one) for one in asked):
        return tuple(checks)
    return tuple(one for one in checks if DOCUMENT_ROW not in one.rows or one.surface in whole)


def _beyond_addons(ids: Sequence[str]) -> bool:
    """Return whether rows are asked for that are not of an addon alone, so that the target is wanted, too."""
    return any(not one.strip().upper().startswith(ADDON_ROWS) for one in ids)


def _rows(options: Mapping[str, Any]) -> tuple[Requirement, ...]:
    try:
        rows = chosen(options["ids"], options["ledger"])
    except LookupError as unknown:
        which = "" if options["ledger"] == NEWEST else f" of ledger {options['ledger']}"
        raise UsageFault(f"no requirement{which} starts with {unknown}; `weldproof list` shows them") from unknown
    return tuple(
        row
        for row in rows
        if (not options["surfaces"] or row.surface in options["surfaces"])
        and (not options["levels"] or row.level in options["levels"])
        and (not options["lanes"] or row.lane is None or row.lane in options["lanes"])
    )


def _shared_out(
    rows: tuple[Requirement, ...], options: Mapping[str, Any], profile: Profile | None
) -> tuple[Requirement, ...]:
    """Return the rows of the part that is asked for, all where none is."""
    if options["shard"] is None:
        return rows
    number, of = part_of(options["shard"])
    if options["quick"] or options["beside"]:
        raise UsageFault("--shard goes without --quick and --compare-with")
    if options["seed"] is None:
        raise UsageFault("--shard goes with --seed: the parts of a run share theirs")
    lanes = tuple(options["lanes"])
    try:
        return part(
            rows, number, of, applies=lambda row: profile is None or absent(row, profile, lanes) is None, lanes=lanes
        )
    except ValueError as few:
        raise UsageFault(f"--shard {options['shard']}: {few}") from few


def _expected(path: Path | None, profile: Profile | None) -> tuple[ExpectedFailure, ...]:
    entries = () if profile is None else profile.xfail
    if path is not None:
        try:
            extra = parse(path.read_text("utf-8"), source=str(path)).xfail
        except (OSError, ProfileError) as fault:
            raise UsageFault(str(fault)) from fault
    else:
        extra = ()
    for entry in (*entries, *extra):
        if entry.id not in load():
            raise UsageFault(f"xfail: no requirement {entry.id}")
    if (trouble := contradictory((*entries, *extra))) is not None:
        raise UsageFault(trouble)
    return extra


def _stack_options(options: Mapping[str, Any]) -> list[str]:
    words = ["--chains", options["chains"] or "sim"]
    if "localnet" in words[1]:
        # A real node is wanted only for the lanes that run.
        words += [word for lane in options["lanes"] for word in ("--lane", lane)]
    if options["mutant"]:
        words += ["--mutant", options["mutant"]]
    for setting in options["settings"]:
        words += ["--setting", setting]
    return words


def _plain(options: Mapping[str, Any]) -> Mapping[str, Any]:
    plain: Mapping[str, Any] = orjson.loads(orjson.dumps(dict(options), default=str))
    return plain
