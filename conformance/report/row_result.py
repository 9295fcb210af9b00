"""The result of one requirement: its verdict and the findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from conformance.ledger import Requirement
from conformance.outcome import Verdict

BAD: Final = frozenset({Verdict.FAIL, Verdict.ERROR})

# Replaces an empty observation, such as the text of an empty body.
NOTHING: Final = "nothing: it is empty"

# Entries of the list of expected failures that are out of date. Each fails the run, so that the list cannot rot.
UNEXPECTED_OUTCOMES: Final = frozenset({"unexpected_pass", "expired", "unmatched"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One judgement of one row by one check.

    Attributes:
        check: Id of the check.
        verdict: Its verdict on the row.
        expected: The expectation in words; for an inconclusive row the reason.
        found: The observation in words, or None.
        hint: The repair of a breach, or None.
        where: Lane, operation, axis and so on.
        exchange: Number of the exchange that shows it, or None.
    """

    check: str
    verdict: Verdict
    expected: str
    found: str | None
    hint: str | None
    where: Mapping[str, str]
    exchange: int | None

    @property
    def contrast(self) -> str:
        """Expectation and observation: `expected not served; found 200`."""
        if self.found is None:
            return f"expected {self.expected}"
        return f"expected {self.expected}; found {self.found or NOTHING}"


@dataclass(frozen=True, slots=True)
class RowResult:
    """A requirement with its verdict and everything that was found about it.

    `cause` describes what decided it, and is the same for all rows of one cause. `cause_place` is the place of that
    cause among all, from 1, and `cause_order` that of the row within its cause; None if the row needs no attention.
    """

    requirement: Requirement
    verdict: Verdict
    reason: str | None
    checks: tuple[str, ...]
    expected_failure: str | None
    findings: tuple[Finding, ...]
    cause: str | None = None
    cause_place: int | None = None
    cause_order: int | None = None

    @property
    def id(self) -> str:
        """The requirement's id."""
        return self.requirement.id

    @property
    def group(self) -> str:
        """The part of the id that names its group: `RAIL-WELD` of `RAIL-WELD-02`."""
        return "-".join(self.id.split("-")[:2])

    @property
    def decisive_findings(self) -> tuple[Finding, ...]:
        """The findings that made the verdict."""
        return tuple(finding for finding in self.findings if finding.verdict is self.verdict)

    @property
    def against(self) -> tuple[Finding, ...]:
        """The findings against the row; empty for a pass, even if a failure was expected."""
        return () if self.verdict is Verdict.PASS else self.decisive_findings

    @property
    def headline(self) -> str | None:
        """The verdict's reason in one sentence: `expected …; found …` for a breach, else the reason; None for none."""
        is_breach = self.verdict in {Verdict.FAIL, Verdict.WARN} and bool(self.against)
        return self.against[0].contrast if is_breach else self.reason

    @property
    def needs_attention(self) -> bool:
        """Whether the row needs a reader's attention: any verdict except kept, absent and documented."""
        return (
            self.verdict in {*BAD, Verdict.WARN, Verdict.INCONCLUSIVE} or self.expected_failure in UNEXPECTED_OUTCOMES
        )
