"""What a run comes to: which disagreements count, what is to be said of the whole, and the exit code. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.outcome import Exit
from conformance.vectors.runner.explanations import Rotten
from conformance.vectors.runner.judging import JUDGED, Outcome, Result
from conformance.vectors.runner.protocol import INVALID, VALID
from conformance.vectors.runner.running import FAILURES_IN_A_ROW, Run


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A run beside its explanations.

    Attributes:
        run: The run.
        reasons: The written reason for a result, by vector id.
        rotten: Explanations that explain nothing.
        profile: Whether what only the profile decides counts, too.
    """

    run: Run
    reasons: Mapping[str, str]
    rotten: tuple[Rotten, ...] = ()
    profile: bool = False

    @property
    def unexplained(self) -> tuple[Result, ...]:
        """The disagreements that fail the run."""
        return tuple(one for one in self.disagreements if one.vector.id not in self.reasons and self._counts(one))

    @property
    def only_pinned(self) -> tuple[Result, ...]:
        """The disagreements on what only the profile decides, where that fails nobody and nothing explains them."""
        return tuple(one for one in self.disagreements if one.vector.id not in self.reasons and not self._counts(one))

    @property
    def explained(self) -> tuple[Result, ...]:
        """The disagreements that have a written reason."""
        return tuple(one for one in self.disagreements if one.vector.id in self.reasons)

    @property
    def disagreements(self) -> tuple[Result, ...]:
        """Everything but agreement, families aside that the verifier never claimed to judge."""
        return tuple(one for one in self.run.results if one.disagrees)

    @property
    def judged(self) -> tuple[Result, ...]:
        """The results in which the verifier gave a verdict."""
        return tuple(one for one in self.run.results if one.outcome in JUDGED)

    @property
    def counts(self) -> dict[str, dict[Outcome, int]]:
        """How often each outcome came, by family."""
        found: dict[str, dict[Outcome, int]] = {}
        for one in self.run.results:
            family = found.setdefault(one.vector.family, dict.fromkeys(Outcome, 0))
            family[one.outcome] += 1
        return found

    @property
    def exit_code(self) -> Exit:
        """130 interrupted, 3 nothing judged, 1 an unexplained disagreement, a rotten entry or no clean end, 0."""
        if self.run.interrupted:
            return Exit.INTERRUPTED
        if all(one.outcome is Outcome.UNSUPPORTED for one in self.run.results):
            return Exit.NO_VERDICT
        if self.unexplained or self.rotten or not self.run.ending.clean:
            return Exit.FAILED
        return Exit.PASSED

    @property
    def sentence(self) -> str:
        """The run in a sentence."""
        results = self.run.results
        agree = sum(one.outcome is Outcome.AGREE for one in results)
        parts = [f"{agree} of {len(results)} agree"]
        for count, words in (
            (len(self.unexplained), "unexplained"),
            (len(self.explained), "explained"),
            (len(self.only_pinned), "differ only where the profile decides"),
            (len(results) - agree - len(self.disagreements), "of families it does not judge"),
        ):
            if count:
                parts.append(f"{count} {words}")
        return ", ".join(parts)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be said of the run as a whole, a sentence each."""
        return tuple(self._remarks())

    def _counts(self, result: Result) -> bool:
        return self.profile or not result.pinned

    def _remarks(self) -> Iterator[str]:
        run = self.run
        if run.interrupted:
            yield f"The run was interrupted after {len(run.results)} vectors."
        if run.gave_up:
            yield (
                f"The command failed {FAILURES_IN_A_ROW} times in a row, so the rest was not asked and counts as crash."
            )
        elif run.starts > 1:
            yield f"It was started {run.starts} times."
        if not run.ending.clean:
            yield f"It did not end well: {run.ending.detail}."
        yield from self._indiscriminate()
        if self.judged and not self.profile and all("valid" in one.vector.pinned for one in self.judged):
            yield "Of all that it judged the profile alone decides: nothing counts here unless --profile is given."
        known = {one.vector.family for one in run.results}
        for family in run.hello.families:
            outcomes = {one.outcome for one in run.results if one.vector.family == family}
            if family in known and outcomes == {Outcome.UNSUPPORTED}:
                yield f"It names the family {family} and judged nothing of it."

    def _indiscriminate(self) -> Iterator[str]:
        verdicts = {one.answer.verdict for one in self.judged if one.answer is not None}
        wanted = {one.vector.expected.valid for one in self.judged}
        if not self.judged:
            yield "It judged nothing."
        elif wanted == {True, False} and verdicts == {VALID}:
            yield "It called everything valid that it judged: a verifier that refuses nothing verifies nothing."
        elif wanted == {True, False} and verdicts == {INVALID}:
            yield "It refused everything that it judged."
