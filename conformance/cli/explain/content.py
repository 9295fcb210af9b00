"""The explanation of a requirement, for the command `explain` and for the pages of the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from conformance.engine.catalogue import CheckDescription, load_catalogue
from conformance.engine.exclusive import Exclusive
from conformance.ledger import Requirement
from conformance.ledger.clause import Clause
from conformance.ledger.deciding_function_lines import rules_of
from conformance.ledger.example_breaches import Example, examples
from conformance.ledger.sentence_ledger import judged_by
from conformance.ledger.specification import cited_clauses, rests_on
from conformance.ledger.why import why
from conformance.selftest.kill_lists import KillList, load_kill_lists
from conformance.vocabulary.profile_claims import IMPLIED_OPTIONS

# The letters of `needs` in the ledger.
NEEDS: Final[Mapping[str, str]] = {
    "V": "test vectors only, no server",
    "B": "the server's address",
    "K": "a receipt signed with the platform key",
    "T": "a tenant's API key and id",
    "T2": "two tenants",
    "A": "the control plane's admin token",
    "I": "an administrator's key of the gateway",
    "C": "a chain node and a funded payer",
    "W": "a webhook receiver the server can reach",
    "S": "control of time, load or the chain's availability",
    "P": "access to the server's process, environment or files",
    "R": "a webhook receiver under test",
    "D": "reading documents",
}
# What a row's `basis` in the ledger means for a reader.
_BASES: Final[Mapping[str, str]] = {
    "stated": "stated in the interface",
    "implied": "implied in the interface",
    "claimed": "in the specification, for a target that claims it",
}
# How a check's exclusiveness restricts the checks that run at the same time.
_COMPANY: Final[Mapping[Exclusive, str]] = {
    Exclusive.NOTHING: "",
    Exclusive.CLOCK: ", only together with other checks that move the clock",
    Exclusive.CHAIN: ", alone on its lane",
    Exclusive.SURFACE: ", alone on its surface",
    Exclusive.LIMITS: ", with separate limits",
    Exclusive.RESTART: ", alone and before a clock is moved",
    Exclusive.CHAIN_AND_CLOCK: ", alone and last",
}
NO_CHECK: Final = "This version of the suite has no check for it yet, so it is inconclusive if the target claims it."


@dataclass(frozen=True, slots=True)
class Explanation:
    """A requirement with everything that the suite knows about it.

    Attributes:
        row: The requirement.
        why: The consequence of a breach, or None if it is not written yet.
        clauses: The clauses of the specification on which it rests, and further ones that its sentence and checks cite.
        sentences: Ids of the sentences of the specification that it judges.
        rules: Functions that decide it in the reference, as `reference/rail/keys.py:Keys.find`.
        checks: The checks that decide it.
        example: A recorded breach, or None.
        catching_mutants: Mutants whose author named this row before the first run.
        further_mutants: Other mutants that it catches, each with the reason.
    """

    row: Requirement
    why: str | None
    clauses: tuple[Clause, ...]
    sentences: tuple[str, ...]
    rules: tuple[str, ...]
    checks: tuple[CheckDescription, ...]
    example: Example | None
    catching_mutants: tuple[KillList, ...]
    further_mutants: tuple[tuple[KillList, str], ...]

    @property
    def level(self) -> str:
        """The level and basis of the row, in words."""
        row = self.row
        level_text = f"{row.level}, {_BASES[row.basis]}; a breach {'fails' if row.decides else 'warns'}"
        if row.claimed_by is None:
            return level_text
        return f"{level_text}, and fails a target that claims the specification ({row.claimed_by})"

    @property
    def surface(self) -> str:
        """The surface of the row, and the lane or option that the target must also claim."""
        row = self.row
        only = [text for text in (row.lane and f"lane {row.lane}", row.option and f"option {row.option}") if text]
        if row.option in {option for options in IMPLIED_OPTIONS.values() for option in options}:
            only[-1] += " or the specification"
        return f"{row.surface}, only if claimed: {', '.join(only)}" if only else row.surface

    @property
    def needs(self) -> str:
        """What a test of the row needs, in words."""
        return ", ".join(NEEDS.get(code, code) for code in self.row.needs) or "nothing"

    @property
    def reason_without_check(self) -> str | None:
        """Why no check sends a request for the row; None if one does."""
        if self.row.documented is not None:
            return f"No request can show it: {self.row.documented}"
        return None if self.checks else NO_CHECK


def explain(row: Requirement) -> Explanation:
    """Return the explanation of a requirement."""
    checks = tuple(check for check in load_catalogue() if row.id in check.rows)
    return Explanation(
        row=row,
        why=why(row.id),
        clauses=_clauses(row, checks),
        sentences=judged_by(row.id),
        rules=rules_of(row.id),
        checks=checks,
        example=examples().get(row.id),
        catching_mutants=tuple(one for one in _kill_lists() if one.caught_by == row.id),
        further_mutants=tuple((one, one.also[row.id]) for one in _kill_lists() if row.id in one.also),
    )


def rule_of(mutant: str) -> str:
    """Return the rule that a mutant breaks."""
    return next(one.rule for one in _kill_lists() if one.mutant == mutant)


def describe_company(check: CheckDescription) -> str:
    """Return how often and with which other checks a check runs: ` once for each claimed lane, alone on its lane`."""
    once = " once for each claimed lane" if check.lane == "each" else f" lane {check.lane}" if check.lane else ""
    return f"{once}{_COMPANY[check.exclusive]}"


def describe_quick_run(check: CheckDescription) -> str:
    """Return how `run --quick` runs a check, in words."""
    lane = "on one claimed lane, drawn from the seed" if check.lane == "each" else ""
    ways = {
        "whole": lane or "tested in full",
        "sample": f"a sample{lane and f' {lane}'}: {check.quick.words}",
        "one of several": f"one of {check.quick.words}, drawn from the seed",
        "left out": f"left out, because it {check.quick.words}",
    }
    return ways[check.quick.way]


@cache
def _kill_lists() -> tuple[KillList, ...]:
    return load_kill_lists()


def _clauses(row: Requirement, checks: Sequence[CheckDescription]) -> tuple[Clause, ...]:
    texts = (row.sentence, *(f"{check.sentence}\n{check.fix}" for check in checks))
    named = (clause for text in texts for clause in cited_clauses(text))
    return tuple(dict.fromkeys((*rests_on(row.id), *named)))
