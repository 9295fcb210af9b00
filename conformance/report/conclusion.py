"""The conclusion of a run in sentences: the verdict and its basis."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping
from typing import Final

from conformance.ledger import Requirement
from conformance.ledger.specification import rests_on as clauses_of
from conformance.outcome import ON_WORD, STAND_IN, Exit, Verdict
from conformance.report.row_result import UNEXPECTED_OUTCOMES, RowResult
from conformance.report.summary import Summary
from conformance.text.target_text_escaping import one_line
from conformance.vocabulary.unanswered_calls import NO_ANSWER_IN_TIME, NO_CONNECTION

# The words for people. Programs read the values of the enumeration, which never change.
WORDS: Final[Mapping[Verdict, str]] = {
    Verdict.PASS: "pass",
    Verdict.FAIL: "fail",
    Verdict.WARN: "warn",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.NOT_APPLICABLE: "not applicable",
    Verdict.ERROR: "error",
    Verdict.DOCUMENTED: "documented",
    Verdict.LEFT_OUT: "left out",
}
SURFACES: Final[Mapping[str, str]] = {
    "shared": "Every surface",
    "gateway": "Payment gateway",
    "rail": "Pay-per-call rail",
    "agent": "Verifiable-comms agent",
    "control_plane": "Control plane",
    "webhooks": "Signed webhooks",
    "payer": "Payer",
}
_EXPECTATIONS: Final[Mapping[str, str]] = {
    "expected": "on the expected-failure list, so it does not fail the run",
    "unexpected_pass": "on the expected-failure list, but it passes: remove the entry",
    "unmatched": "on the expected-failure list, but it does not apply to this target: remove the entry",
    "expired": "on the expected-failure list, but the entry has expired",
}
# Number of reasons why rows do not apply in the sentence of a run; -v lists all.
_MOST_REASONS: Final = 3
QUICK_LOOK: Final = "Quick look"
# Added to every result of a target whose identity was not checked.
UNCHECKED: Final = (
    "The target's certificates were not checked (--insecure, [tls] insecure): any server may have answered."
)
# By exit code, so that the first word of every report agrees with what a shell sees.
_HEADLINES: Final[Mapping[int | None, str]] = {
    Exit.PASSED: "Passed",
    Exit.FAILED: "Failed",
    Exit.USAGE: "Not run",
    Exit.NO_VERDICT: "No verdict",
    Exit.SUITE_FAULT: "Fault in the suite",
    Exit.INTERRUPTED: "Interrupted",
    None: "Unfinished",
}


def headline(summary: Summary) -> str:
    """Return the outcome of a run in a few words; a pass also names known failures and warnings."""
    word = _HEADLINES.get(summary.exit_code, f"Exit {summary.exit_code}")
    if summary.exit_code != Exit.PASSED:
        return word
    if summary.quick:
        return QUICK_LOOK
    known_count = len(summary.known_failures)
    warning_count = sum(row.verdict is Verdict.WARN and row.expected_failure is None for row in summary.rows)
    additions = [f"but for {_number(known_count, 'known failure')}"] if known_count else []
    additions += [f"with {_number(warning_count, 'warning')}"] if warning_count else []
    return " ".join([word, ", ".join(additions)]) if additions else word


def words(summary: Summary) -> Mapping[Verdict, str]:
    """Return the name of each verdict. A quick look gives no pass, so its name is "no breach"."""
    return {**WORDS, Verdict.PASS: "no breach"} if summary.quick else WORDS


def sentence(summary: Summary) -> str:
    """Return the verdict as one sentence, which never claims more than was tested."""
    counts = summary.counts
    judged_count = counts[Verdict.PASS] + counts[Verdict.FAIL] + counts[Verdict.WARN]
    parts = [_pass_sentence(summary, judged_count) if judged_count else "No requirement was judged"]
    for verdict, words in (
        (Verdict.FAIL, "fail"),
        (Verdict.WARN, "warn"),
        (Verdict.INCONCLUSIVE, "could not be decided"),
        (Verdict.ERROR, "met a fault of the suite"),
        (Verdict.LEFT_OUT, "left out by --quick"),
    ):
        if counts[verdict]:
            parts.append(f"{counts[verdict]} {words}")
    known_count = sum(row.expected_failure == "expected" for row in summary.rows)
    unexpected_count = sum(row.expected_failure in UNEXPECTED_OUTCOMES for row in summary.rows)
    if known_count:
        parts.append(f"{known_count} on the expected-failure list")
    if unexpected_count:
        parts.append(f"{unexpected_count} that the expected-failure list does not excuse any more")
    remarks = "" if summary.is_finished else " The log ends before the end of the run."
    if summary.interrupted:
        remarks = " The run was interrupted, and requirements that it did not reach have no verdict."
    # A verdict about a server whose identity was not checked must not look like any other.
    if ("tls.insecure", "true") in summary.non_defaults:
        remarks += f" {UNCHECKED}"
    # A part judges only some rows, so its sentence says where the whole verdict comes from.
    if summary.options.get("shard"):
        remarks += f" This is part {one_line(str(summary.options['shard']), 20)} of a run: `weldproof report merge`."
    if summary.unanswered:
        remarks += _explain_no_answer(summary)
    remarks += "".join(f" {text}" for text in summary.stopped_servers)
    remarks += _explain_absence(summary)
    remarks += _also_seen(summary)
    if summary.not_yours is not None:
        remarks += f" {nothing_of_yours(summary.not_yours)}"
    return f"{_quick_result(summary)}{', '.join(parts)}.{remarks}"


def _explain_absence(summary: Summary) -> str:
    """Return why no selected requirement applies, if none does, and where that is decided."""
    if not summary.rows or summary.counts[Verdict.NOT_APPLICABLE] < len(summary.rows):
        return ""
    reasons = one_line("; ".join([*summary.absent][:_MOST_REASONS]), 600)
    return f" None of them applies: {reasons}. [claims] of the profile lists what is judged."


def _also_seen(summary: Summary) -> str:
    """Return the sentence about broken requirements that were not selected, but were seen by a check."""
    broken_rows = ", ".join(f"{name} {WORDS[verdict]}" for name, verdict in summary.also_seen.items())
    return f" Also seen, not selected: {broken_rows}." if broken_rows else ""


def _explain_no_answer(summary: Summary) -> str:
    """Return why the target gave no answer, and advice."""
    addresses = one_line(" or ".join(dict.fromkeys(summary.surfaces.values())), 400)
    reasons = one_line("; ".join(summary.unanswered_because), 600)
    remarks = f" Nothing at {addresses} gave an answer: {reasons}."
    if NO_CONNECTION in reasons:
        remarks += " Is the server running, and is this its address?"
    if NO_ANSWER_IN_TIME in reasons:
        remarks += " If the server is slow, give a longer --timeout."
    return remarks


def nothing_of_yours(target_text: str) -> str:
    """Return the sentence of a run that judged `target_text` of the suite's own, and nothing of the operator's."""
    return f"Nothing of yours was judged: the target was {one_line(target_text, 100)}."


def _pass_sentence(summary: Summary, judged_count: int) -> str:
    pass_count = summary.counts[Verdict.PASS]
    if summary.quick:
        return f"{pass_count} of {_number(judged_count, 'tried requirement')} without a breach"
    return f"{pass_count} of {_number(judged_count, 'judged requirement')} {'passes' if judged_count == 1 else 'pass'}"


def _quick_result(summary: Summary) -> str:
    """Return the result of a quick look, for the beginning of the sentence, with the note that it is not a verdict."""
    if not summary.quick or not summary.is_finished:
        return ""
    nothing = "some of the samples warn" if summary.counts[Verdict.WARN] else "no breach found in the samples"
    outcomes = {Exit.PASSED: nothing, Exit.FAILED: "it breaks requirements"}
    outcome = outcomes.get(Exit(summary.exit_code or 0), "not all of it could be tried")
    text = f"{outcome}; run without --quick for a verdict. "
    # If the headline already says so, the words would appear twice.
    return text[0].upper() + text[1:] if headline(summary) == QUICK_LOOK else f"{QUICK_LOOK}: {text}"


def rests_on(summary: Summary) -> tuple[str, ...]:
    """Return the basis of the verdict in sentences: claims, exclusions, and values that are not defaults."""
    claim_texts = [f"{name} {', '.join(members) or 'none'}" for name, members in summary.claims.items()]
    lines = [f"Claimed: {one_line('; '.join(claim_texts) or 'nothing', 1000)}."]
    counts = summary.counts
    if counts[Verdict.NOT_APPLICABLE]:
        lines.append(
            f"{counts[Verdict.PASS]} {'without a breach' if summary.quick else 'passed'}; "
            f"{_number(counts[Verdict.NOT_APPLICABLE], 'more requirement')} not judged, because the profile does not "
            f"claim them or they do not apply."
        )
    if counts[Verdict.DOCUMENTED]:
        lines.append(f"{_number(counts[Verdict.DOCUMENTED], 'requirement')} documented: no request can show them.")
    lines += _shortened_lines(summary)
    if summary.partly:
        lines.append(f"{_number(len(summary.partly), 'requirement')} passed in part: {', '.join(summary.partly)}.")
        lines += [f"Not shown of {', '.join(ids)}: {one_line(why, 400)}." for why, ids in summary.not_shown.items()]
    if summary.untried_steps:
        lines.append(f"Not tried: {one_line('; '.join(summary.untried_steps), 1000)}.")
    for statement, count in sorted(_findings_of(summary, ON_WORD).items()):
        lines.append(f"{_number(count, 'requirement')} judged on the operator's statement that {statement}.")
    for name, count in sorted(_findings_of(summary, STAND_IN).items()):
        lines.append(f"{_number(count, 'requirement')} judged on {name}, because your profile names none.")
    if summary.non_defaults:
        value_count = _number(len(summary.non_defaults), "value")
        lines.append(f"{value_count} of the target profile set to something other than the default.")
    else:
        lines.append("Every value of the target profile is the default.")
    return tuple(lines)


def _shortened_lines(summary: Summary) -> list[str]:
    """Return sentences about rows that a quick look left out or tried in part."""
    if not summary.quick:
        return _by_what(summary, "Tried in part")
    count = _number(summary.counts[Verdict.LEFT_OUT], "requirement")
    lines = [f"A quick look: {count} left out, {_number(len(summary.shortened), 'trial')} shortened."]
    lines += [f"{len(ids)} {one_line(reason, 400)}: {', '.join(ids)}." for reason, ids in summary.left_out.items()]
    return lines + _by_what(summary, "Shortened")


def _by_what(summary: Summary, word: str) -> list[str]:
    by_what: dict[str, list[str]] = {}
    for trial in summary.shortened:
        by_what.setdefault(one_line(trial.what, 200), []).append(
            f"{one_line(trial.check, 100)} {trial.tried} of {trial.of}"
        )
    return [f"{word}, {what}: {', '.join(tried)}." for what, tried in by_what.items()]


def _findings_of(summary: Summary, member: str) -> Counter[str]:
    """Return the values of a member of the findings' `where`, each with its number of requirements."""
    values_by_row = ({one.where[member] for one in row.findings if member in one.where} for row in summary.rows)
    return Counter(name for names in values_by_row for name in names)


def expectation(row: RowResult) -> str | None:
    """Return the effect of the expected-failure list on a row, in words."""
    return None if row.expected_failure is None else _EXPECTATIONS.get(row.expected_failure, row.expected_failure)


def describe_claim(row: Requirement) -> str:
    """Return the claim of the profile by which a row of the basis `claimed` binds a target, and its sentence."""
    return row.option or f"specification ({row.claimed_by})"


def describe_standing(row: RowResult) -> str:
    """Return section, level, weight and clauses of a requirement, in words."""
    weight = "decides the verdict" if row.requirement.decides else "warns only"
    clause_ids = ", ".join(clause.id for clause in clauses_of(row.id))
    if row.requirement.basis == "claimed":
        weight += f", by the claim {describe_claim(row.requirement)}"
    basis_text = f"{row.requirement.section} · {row.requirement.level}, {row.requirement.basis} · {weight}"
    return f"{basis_text} · specification {clause_ids}" if clause_ids else basis_text


def start_time(summary: Summary) -> str:
    """Return the start of the run, in UTC."""
    return f"{dt.datetime.fromtimestamp(summary.started_at, dt.UTC):%Y-%m-%d %H:%M:%S} UTC"


def duration(summary: Summary) -> str:
    """Return the duration of the run."""
    return "unfinished" if summary.seconds is None else f"{summary.seconds:.1f} s"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
