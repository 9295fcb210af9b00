"""The rows and checks that the options of a run select."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.cli.run.options import RunOptions
from conformance.cli.run.shards import parse_shard
from conformance.cli.suggestion import describe_unknown, prefixes
from conformance.cli.usage import UsageFault
from conformance.engine.check import Check
from conformance.engine.runner import explain_absence
from conformance.engine.sharding import select_part
from conformance.ledger import NEWEST, Requirement, load
from conformance.target import Profile
from conformance.vocabulary.lanes.row_applicability import decided_on

# Surfaces that publish an OpenAPI document, by the prefix of their rows, and the row about these documents.
DOCUMENT_SURFACES = {"GW": "gateway", "RAIL": "rail", "AGENT": "agent", "CP": "control_plane"}
DOCUMENT_ROW = "X-OAS-01"


def select_ids(ids: Sequence[str], version: int = NEWEST) -> tuple[Requirement, ...]:
    """Return the rows of these ids in a version of the ledger, with the OpenAPI row if a whole surface is named.

    Raises:
        LookupError: An id matches no row; the text is the id.
    """
    whole_surfaces = {one.strip().upper().rstrip("-") for one in ids} & DOCUMENT_SURFACES.keys()
    return load().at_version(version).select([*ids, *([DOCUMENT_ROW] if whole_surfaces else [])])


def drop_foreign_documents(checks: Sequence[Check], ids: Sequence[str]) -> tuple[Check, ...]:
    """Return the checks without OpenAPI checks of surfaces that were not selected.

    Args:
        checks: The checks that decide the selected rows.
        ids: The ids that were named.
    """
    normal_ids = [one.strip().upper().rstrip("-") for one in ids]
    whole_surfaces = {DOCUMENT_SURFACES[one] for one in normal_ids if one in DOCUMENT_SURFACES}
    # X-OAS-01 is one row for the documents of all surfaces. A user who selects the gateway does not
    # mean the rail's document, unless the row itself was named.
    if not whole_surfaces or any(DOCUMENT_ROW.startswith(one) for one in normal_ids):
        return tuple(checks)
    return tuple(one for one in checks if DOCUMENT_ROW not in one.rows or one.surface in whole_surfaces)


def select_rows(options: RunOptions) -> tuple[Requirement, ...]:
    """Return the rows that the options of `weldproof run` select.

    Raises:
        UsageFault: An id matches no row, or the options together select no row.
    """
    try:
        rows = select_ids(options.ids, options.ledger)
    except LookupError as prefix:
        noun = "requirement" if options.ledger == NEWEST else f"requirement of ledger {options.ledger}"
        raise UsageFault(describe_unknown(str(prefix), prefixes(load().at_version(options.ledger)), noun)) from prefix
    rows_left = tuple(
        row
        for row in rows
        if (not options.surfaces or row.surface in options.surfaces)
        and (not options.levels or row.level in options.levels)
        and (not options.lanes or any(decided_on(row, lane) for lane in options.lanes))
    )
    if not rows_left:
        raise UsageFault(
            "no requirement matches the ids, --surface, --lane and --level together: `weldproof list` shows all"
        )
    return rows_left


def check_lanes(options: RunOptions, profile: Profile) -> None:
    """Check that the target claims a lane of the run.

    Raises:
        UsageFault: `--lane` names only lanes that the profile does not claim.
    """
    if options.lanes and not set(options.lanes) & set(profile.claims.lanes):
        lane_list = ", ".join(profile.claims.lanes) or "no lane"
        raise UsageFault(f"--lane {', '.join(options.lanes)}: the profile claims {lane_list}")


def select_shard(
    rows: tuple[Requirement, ...], options: RunOptions, profile: Profile | None
) -> tuple[Requirement, ...]:
    """Return the rows of the part that `--shard` names; all rows without it.

    Raises:
        UsageFault: The part is malformed, or cannot be combined with other options.
    """
    if options.shard is None:
        return rows
    number, of = parse_shard(options.shard)
    if options.quick or options.beside:
        raise UsageFault("--shard cannot be combined with --quick or --compare-with")
    # Random choices must be the same in all parts, or they would not belong to one run.
    if options.seed is None:
        raise UsageFault("--shard needs --seed, because all parts of a run share one seed")
    lanes = tuple(options.lanes)
    try:
        return select_part(
            rows,
            number,
            of,
            applies=lambda row: profile is None or explain_absence(row, profile, lanes) is None,
            lanes=lanes,
        )
    except ValueError as few:
        raise UsageFault(f"--shard {options.shard}: {few}") from few
