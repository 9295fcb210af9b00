"""`weldproof run`: resolves the options, starts the target, runs the checks, and writes the reports."""

from __future__ import annotations

import gc
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click

from conformance import extras
from conformance.cli.program_command import command_after_dashes
from conformance.cli.run.addon import ADDON_ROWS, with_addon
from conformance.cli.run.mutant_receiver import with_receiver
from conformance.cli.run.options import RunOptions
from conformance.cli.run.payer import (
    claim_reference_payer,
    open_payer_chains,
    selects_only_payers,
    with_chains,
    with_payer,
    with_payer_chains,
)
from conformance.cli.run.reports import run_and_report
from conformance.cli.run.row_selection import check_lanes, drop_foreign_documents, select_rows, select_shard
from conformance.cli.suggestion import describe_unknown
from conformance.cli.targets import (
    WORKING_PROFILE,
    check_nodes,
    load_chain_file,
    load_comparison_profile,
    load_named_profile,
    open_target,
    replace_nodes,
)
from conformance.cli.usage import UsageFault
from conformance.engine.check import Check
from conformance.engine.check_loading import find_missing_extras, import_meanwhile
from conformance.engine.concurrent_check_steps import enter_together
from conformance.engine.expected_failures import explain_contradiction
from conformance.engine.quick_policy import FUZZ_SECONDS
from conformance.engine.quick_selection import select_quick_checks
from conformance.engine.runner import Plan, PostRunStep, Run, explain_absence, select_checks
from conformance.http.client import Names
from conformance.lanes.spending import Wallet
from conformance.ledger import Requirement, load
from conformance.log.events import EventLog
from conformance.outcome import OUR_LISTENER, Exit
from conformance.processes.own_stack import list_surface_options
from conformance.target import LANES, Chains, ExpectedFailure, Profile, ProfileError, parse
from conformance.text.files import read_text

NO_TARGET = (
    "no target is given and ./weldproof.toml does not exist. `weldproof init URL` writes one. Or give --config or "
    "--target, or --reference for the built-in reference"
)


# Objects before a collection of the youngest generation, and collections of a generation before one of the next.
_COLLECTOR_THRESHOLDS: Final = (10_000, 20, 50)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run, resolved from its options.

    Attributes:
        profile: The target; None for the reference.
        comparison: The target of --compare-with, or None.
        rows: The rows to judge.
        expected_failures: Expected failures of --xfail, in addition to the profile's.
        seed: Seed of the random choices.
        stack_options: Options that start the reference.
        wallet: The permission to spend.
    """

    profile: Profile | None
    comparison: Profile | None
    rows: tuple[Requirement, ...]
    expected_failures: tuple[ExpectedFailure, ...]
    seed: int
    stack_options: tuple[str, ...]
    wallet: Wallet


def run_suite(ctx: click.Context, options: RunOptions) -> None:
    """Run the suite, write its reports, and end the command with its exit code."""
    # An addon alone has rows of its own. All other rows would need a further target.
    if options.addon and not options.ids:
        options = replace(options, ids=(ADDON_ROWS,))
    program_command, names = command_after_dashes(ctx), Names()
    recorded_options = _options_for_the_log(program_command, options)
    request = _resolve_options(program_command, options)

    async def body(log: EventLog) -> Exit:
        async with (
            import_meanwhile(),
            # Both start processes, so they start at the same time.
            enter_together(
                open_target(request.profile, request.stack_options),
                open_payer_chains(_list_lanes_of_payer(request, options)),
            ) as (started, payer_chains),
            with_receiver(started, options.mutant) as received,
            with_chains(_add_reference_payer(received, request, payer_chains, options.mutant)) as profile,
        ):
            run = _plan_run(request, profile, log, names, options)
            # Modules and events of the log stay until the end. The collector would walk through them again and again.
            gc.freeze()
            gc.set_threshold(*_COLLECTOR_THRESHOLDS)
            return await run.execute(options=recorded_options)

    expected_failures = (*(() if request.profile is None else request.profile.xfail), *request.expected_failures)
    presentation = {"as_json": options.as_json, "verbose": options.verbose}
    kinds = options.kinds or ("html", "json")
    ctx.exit(run_and_report(body, options.report_folder, kinds, names, expected_failures, **presentation))


def _options_for_the_log(program_command: Sequence[str], options: RunOptions) -> Mapping[str, Any]:
    """Return the options that the log records, with what the replay of a payer's call needs to name its target."""
    recorded = options.changed_options()
    if not program_command or not selects_only_payers(options.ids):
        return recorded
    has_profile = options.config is None and not options.addresses and WORKING_PROFILE.exists()
    config = {"config": str(WORKING_PROFILE)} if has_profile else {}
    return {**recorded, **config, "payer_command": list(program_command)}


def _add_reference_payer(profile: Profile, request: RunRequest, chains: Chains, mutant: str | None) -> Profile:
    """Return the profile; if the reference is the target of rows of payers, with its payer under test."""
    if not _judges_reference_payer(request):
        return profile
    claimed = claim_reference_payer(profile, mutant)
    return claimed if chains == Chains() else with_payer_chains(claimed, chains)


def _judges_reference_payer(request: RunRequest) -> bool:
    return request.profile is None and any(row.surface == "payer" for row in request.rows)


def _list_lanes_of_payer(request: RunRequest, options: RunOptions) -> tuple[str, ...]:
    """Return the lanes for which the reference's payer gets nodes of its own; none if nothing would disturb it.

    A selection of other chains is also one for the payer, and a quick run is over before further nodes have started.
    """
    is_alone = all(row.surface == "payer" for row in request.rows)
    if not _judges_reference_payer(request) or is_alone or options.quick or options.chains is not None:
        return ()
    return options.lanes or LANES


def _resolve_options(program_command: Sequence[str], options: RunOptions) -> RunRequest:
    """Return the run that the options describe.

    Raises:
        UsageFault: Options contradict each other, or name something that does not exist.
        MissingExtra: The reference is required and not installed.
    """
    nodes = load_chain_file(options.chains)
    is_reference = options.means_reference(nodes)
    _check_program_options(options, is_reference=is_reference)
    profile = _target(program_command, options, is_reference=is_reference)
    if nodes is not None:
        profile = replace_nodes(profile, nodes)
    profile = _apply_connection(profile, options)
    check_nodes(profile, main_network=options.main_network)
    comparison = load_comparison_profile(options.beside, main_network=options.main_network)
    if profile is not None:
        check_lanes(options, profile)
    rows = select_shard(select_rows(options), options, profile)
    if profile is None:
        _check_own_stack(rows, is_reference=is_reference)
    return RunRequest(
        profile=profile,
        comparison=comparison,
        rows=rows,
        expected_failures=_read_expected_failures(options.xfail, profile),
        seed=options.seed if options.seed is not None else secrets.randbelow(2**32),
        stack_options=(
            *options.reference_words(options.lanes),
            *list_surface_options(rows, companions=not options.quick),
        ),
        wallet=Wallet(main_network=options.main_network),
    )


def _check_program_options(options: RunOptions, *, is_reference: bool) -> None:
    """Reject options that cannot be combined with those of an addon or payer."""
    if options.addon and is_reference:
        raise UsageFault(
            "--addon cannot be combined with --reference, --mutant, --setting, --chains KINDS or --algorand-mode"
        )
    if options.addon_url and not options.addon:
        raise UsageFault("--addon-url needs --addon -- COMMAND")
    if options.stock and (is_reference or not selects_only_payers(options.ids)):
        raise UsageFault("--stock is for a payer: weldproof run PAYER --stock -- COMMAND")
    if options.beside and options.addon:
        raise UsageFault(
            "--compare-with compares the receipts of rails and gateways: it cannot be combined with --addon"
        )


def _target(program_command: Sequence[str], options: RunOptions, *, is_reference: bool) -> Profile | None:
    """Return the profile of the target, with the addon or payer to start; None for the reference."""
    if selects_only_payers(options.ids) and not is_reference:
        profile = load_named_profile(options.config, options.addresses, is_reference=False)
        return with_payer(profile, program_command, options.lanes, stock=options.stock)
    is_alone = options.addon and not (options.config or options.addresses or _selects_more_than_addons(options.ids))
    profile = None if is_alone else load_named_profile(options.config, options.addresses, is_reference=is_reference)
    return with_addon(profile, program_command, options.addon_url) if options.addon else profile


def _plan_run(request: RunRequest, target: Profile, log: EventLog, names: Names, options: RunOptions) -> Run:
    """Return the run of the checks that decide the rows on a started target."""
    seconds = options.fuzz_seconds or (FUZZ_SECONDS if options.quick else None)
    profile = with_fuzz(target, seconds)
    checks = drop_foreign_documents(select_checks(request.rows, profile, options.lanes), options.ids)
    undecidable = find_missing_extras(checks)
    _warn_of_missing_extras(undecidable, request.rows)
    look = (
        select_quick_checks([check for check in checks if check not in undecidable], request.seed)
        if options.quick
        else None
    )
    plan = Plan(
        rows=request.rows,
        checks=checks if look is None else (*look.checks, *undecidable),
        quick=look,
        seed=request.seed,
        workers=options.workers or profile.pace.workers,
        fail_fast=options.fail_fast,
        strict=options.strict,
        expected_failures=(*profile.xfail, *request.expected_failures),
        lanes=options.lanes,
    )
    not_yours = profile.target.name if request.profile is None else suite_part_judged(request.rows, profile)
    return Run(plan, profile, log, _post_run_steps(request.comparison, plan, profile), names, request.wallet, not_yours)


def _check_own_stack(rows: Sequence[Requirement], *, is_reference: bool) -> None:
    """Check that the reference was requested, if no target is named, and that it is installed.

    Raises:
        UsageFault: It was not requested, and some row needs a target.
        MissingExtra: It is not installed.
    """
    # Documented rows need no target. A selection of them alone runs with the reference, which then
    # judges nothing.
    if not is_reference and not all(row.documented for row in rows):
        raise UsageFault(NO_TARGET)
    extras.need("reference")


def _warn_of_missing_extras(undecidable: Mapping[Check, str], rows: Sequence[Requirement]) -> None:
    """Print, before anything is sent, which rows cannot be judged without an extra, and how to install it."""
    row_ids = {row.id for row in rows}
    for reason in sorted(set(undecidable.values())):
        affected = {row for one, its in undecidable.items() if its == reason for row in one.rows if row in row_ids}
        if affected:
            id_list = ", ".join(row.id for row in rows if row.id in affected)
            noun = "row" if len(affected) == 1 else "rows"
            click.echo(f"weldproof run: {len(affected)} {noun} will not be judged: {id_list}. {reason}", err=True)


def _apply_connection(profile: Profile | None, options: RunOptions) -> Profile | None:
    if profile is not None:
        return options.apply_connection(profile)
    # The reference is started by this run, so there is no connection to configure.
    if options.cacert or options.insecure or options.timeout:
        raise UsageFault("--cacert, --insecure and --timeout need a target: give --config or --target")
    return None


def _post_run_steps(comparison: Profile | None, plan: Plan, profile: Profile) -> Mapping[str, PostRunStep]:
    """Return the steps after the checks: the comparison with another target, if one is given."""
    if comparison is None:
        return {}
    from conformance.receipts.obtaining import BESIDE  # noqa: PLC0415 - as above
    from conformance.receipts.target_comparison import ReceiptComparison  # noqa: PLC0415 - it imports every check of the rail

    surfaces = frozenset(name for row in plan.rows for name in (row.surface, *row.surfaces))
    # A target that is given by address alone has no nodes. It is assumed to use those of the run's target.
    nodes = profile.chains if comparison.chains == Chains() else comparison.chains
    return {BESIDE: ReceiptComparison(comparison.model_copy(update={"chains": nodes}), surfaces, plan.lanes)}


def suite_part_judged(rows: Sequence[Requirement], profile: Profile) -> str | None:
    """Return the part of the suite that these rows judge, if they judge nothing of the operator; else None."""
    applicable = [row for row in rows if row.documented is None and explain_absence(row, profile) is None]
    # Rows about a receiver of webhooks (need R) test the suite's listener if the profile names no
    # receiver. A report must not call that a verdict on the operator's server.
    receivers = bool(applicable) and all("R" in row.needs for row in applicable)
    return OUR_LISTENER if receivers and profile.webhook_bindings.receiver is None else None


def with_fuzz(profile: Profile, seconds: float | None) -> Profile:
    """Return the profile with another budget for generated requests, if one is given."""
    if seconds is None:
        return profile
    return profile.model_copy(update={"budgets": profile.budgets.model_copy(update={"fuzz": seconds})})


def _selects_more_than_addons(ids: Sequence[str]) -> bool:
    """Return whether the ids select rows that need a target in addition to the addon."""
    return any(not one.strip().upper().startswith(ADDON_ROWS) for one in ids)


def _read_expected_failures(path: Path | None, profile: Profile | None) -> tuple[ExpectedFailure, ...]:
    entries = () if profile is None else profile.xfail
    if path is not None:
        try:
            extra = parse(read_text(path), source=str(path)).xfail
        except (OSError, ValueError, ProfileError) as fault:
            raise UsageFault(str(fault)) from fault
    else:
        extra = ()
    for entry in (*entries, *extra):
        # A misspelled id would never match, and the breach would fail the run without an
        # explanation.
        if entry.id not in load():
            known_ids = [row.id for row in load()]
            raise UsageFault(f"xfail: {describe_unknown(entry.id, known_ids, 'requirement')}")
    if (trouble := explain_contradiction((*entries, *extra))) is not None:
        raise UsageFault(trouble)
    return extra
