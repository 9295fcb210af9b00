"""Conclusion of a run: the disagreements that count, remarks on the whole, and the exit code. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.outcome import Exit
from conformance.vectors.runner.explanations import Rotten
from conformance.vectors.runner.judging import VERDICT_OUTCOMES, Outcome, Result
from conformance.vectors.runner.protocol import INVALID, VALID
from conformance.vectors.runner.running import FAILURES_IN_A_ROW, Run


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A run together with its explanations.

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
    def unexplained_results(self) -> tuple[Result, ...]:
        """The disagreements that fail the run."""
        return tuple(
            result for result in self.disagreements if result.vector.id not in self.reasons and self._counts(result)
        )

    @property
    def only_pinned(self) -> tuple[Result, ...]:
        """The unexplained disagreements about something that only the profile decides, if they do not fail the run."""
        return tuple(
            result for result in self.disagreements if result.vector.id not in self.reasons and not self._counts(result)
        )

    @property
    def explained_results(self) -> tuple[Result, ...]:
        """The disagreements that have a written reason."""
        return tuple(result for result in self.disagreements if result.vector.id in self.reasons)

    @property
    def disagreements(self) -> tuple[Result, ...]:
        """All disagreements, without families that the verifier never claimed to judge."""
        return tuple(result for result in self.run.results if result.disagrees)

    @property
    def judged_results(self) -> tuple[Result, ...]:
        """The results in which the verifier gave a verdict."""
        return tuple(result for result in self.run.results if result.outcome in VERDICT_OUTCOMES)

    @property
    def counts(self) -> dict[str, dict[Outcome, int]]:
        """The number of each outcome, by family."""
        results: dict[str, dict[Outcome, int]] = {}
        for result in self.run.results:
            family = results.setdefault(result.vector.family, dict.fromkeys(Outcome, 0))
            family[result.outcome] += 1
        return results

    @property
    def exit_code(self) -> Exit:
        """130 interrupted, 3 nothing judged, 1 an unexplained disagreement, a rotten entry or no clean end, 0."""
        if self.run.interrupted:
            return Exit.INTERRUPTED
        # A verifier that judges nothing must not pass.
        if all(result.outcome is Outcome.UNSUPPORTED for result in self.run.results):
            return Exit.NO_VERDICT
        if self.unexplained_results or self.rotten or not self.run.ending.clean:
            return Exit.FAILED
        return Exit.PASSED

    @property
    def sentence(self) -> str:
        """The run in a sentence."""
        results = self.run.results
        agree = sum(result.outcome is Outcome.AGREE for result in results)
        parts = [f"{agree} of {len(results)} agree"]
        for count, words in (
            (len(self.unexplained_results), "unexplained"),
            (len(self.explained_results), "explained"),
            (len(self.only_pinned), "differ only where the profile decides"),
            (len(results) - agree - len(self.disagreements), "of families it does not judge"),
        ):
            if count:
                parts.append(f"{count} {words}")
        return ", ".join(parts)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the run as a whole, one sentence each."""
        return tuple(self._remarks())

    def _counts(self, result: Result) -> bool:
        # Without --profile, a disagreement on what only the profile decides breaks no standard, so it does not fail
        # the run.
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
        if (
            self.judged_results
            and not self.profile
            and all("valid" in result.vector.pinned for result in self.judged_results)
        ):
            yield "Of all that it judged the profile alone decides: nothing counts here unless --profile is given."
        known_ids = {result.vector.family for result in run.results}
        for family in run.hello.families:
            outcomes = {result.outcome for result in run.results if result.vector.family == family}
            if family in known_ids and outcomes == {Outcome.UNSUPPORTED}:
                yield f"It names the family {family} and judged nothing of it."

    def _indiscriminate(self) -> Iterator[str]:
        verdicts = {result.answer.verdict for result in self.judged_results if result.answer is not None}
        # A verifier with the same verdict for valid and invalid vectors judges nothing, however many of them agree.
        validities = {result.vector.expected.valid for result in self.judged_results}
        if not self.judged_results:
            yield "It judged nothing."
        elif validities == {True, False} and verdicts == {VALID}:
            yield "It called everything valid that it judged: a verifier that refuses nothing verifies nothing."
        elif validities == {True, False} and verdicts == {INVALID}:
            yield "It refused everything that it judged."
