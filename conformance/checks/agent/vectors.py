"""The vectors of RFC 9421 and RFC 9530, each sent to verify and explain.

A vector's requirement ids name the rows that it decides. If it names none of this check, AGENT-VERIFY-11 decides it:
messages are judged as the RFC states. Vectors that only the profile decides are judged on targets that have the
reference's bindings. Elsewhere a Signature-Input that cannot be parsed may be a malformed request, so there 422 passes,
too (C-08).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.assertions.agent.result_members import RESULT_ROW, judge_result_members
from conformance.assertions.agent.verdicts import MAY_DEMAND_MORE, find_verdict_hint
from conformance.assertions.agent.verify_explain_agreement import compute_digests, is_readable, judge_agreement
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer
from conformance.oracles.message_signatures.digests import FIELD
from conformance.oracles.message_signatures.shown_lines import has_wrong_line
from conformance.oracles.message_signatures.verify_request_members import message_of
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import EXPLAIN, VERIFY, Agent, agent_of, answer_reader
from conformance.surfaces.agent import subject as signed
from conformance.vectors import MessageVector, message_signatures

_STATUS_ROW, _RFC_ROW = "AGENT-VERIFY-03", "AGENT-VERIFY-11"
_ERRORS_ROW, _VALID_ROW = "AGENT-VERIFY-04", "AGENT-VERIFY-01"
_VERIFY_ROWS = (
    *("AGENT-VERIFY-01", "AGENT-VERIFY-02", "AGENT-VERIFY-06", "AGENT-VERIFY-07", "AGENT-VERIFY-08", "AGENT-VERIFY-09"),
    *("AGENT-VERIFY-10", "AGENT-VERIFY-11", "AGENT-VERIFY-12", "AGENT-VERIFY-13", "AGENT-VERIFY-14"),
)
_EXPLAIN_ROWS = ("AGENT-EXPLAIN-02", "AGENT-EXPLAIN-06", "AGENT-EXPLAIN-11", "AGENT-EXPLAIN-12")
# Vectors in flight. Each is sent to verify and to explain.
_AT_ONCE = 8
_OK, _UNPROCESSABLE = 200, 422
# Fewer different notes over all vectors would mean that the notes do not depend on the fault.
_KINDS_OF_NOTES = 5
# Vectors with this pin decide another target as well, if it takes a field's lines as an array.
_LINES_PIN = ("profile 6.2 headers as arrays",)
# Kinds that no verifier should accept, although no clause requires a refusal. Accepting them only warns.
_UNSAFE = frozenset({"parameters/expired", "key/small-order", "key/small-order-did-key"})
_NO_CLAUSE = "no clause requires a verifier to refuse it, although accepting it is unsafe"
_LENIENT = "the row does not say how strictly a field is parsed"
_NO_DIGEST = frozenset({"content_digest_malformed", "content_digest_unsupported"})
# Parts of a request that every verifier knows; how components are written in Signature-Input.
_USUAL_PARTS = frozenset({"@method", "@authority", "@path", "@query"})
_COVERED_LIST, _COMPONENT = re.compile(r"\(([^()]*)\)"), re.compile(r'"([^"]*)"(;?)')
# Seconds since 1970: the first of January 2025, the time of most vectors.
_OLD_TIME = 1_735_689_600


@dataclass(frozen=True, slots=True)
class _VectorAnswers:
    """A vector with both answers to it.

    Attributes:
        vector: The message that was sent.
        verify_answer: The answer of verify.
        explain_answer: The answer of explain.
        by_age: Whether the target refuses old signatures, and so may refuse any vector.
    """

    vector: MessageVector
    verify_answer: Answer
    explain_answer: Answer
    by_age: bool = False

    @property
    def where(self) -> dict[str, str]:
        """The id by which a reader finds the vector."""
        return {"vector": self.vector.id}


def choose_vectors(agent: Agent) -> list[MessageVector]:
    """Return the vectors that can judge the target."""
    return [one for one in message_signatures() if "agent" in one.doors and _fits(agent, one)]


def _fits(agent: Agent, vector: MessageVector) -> bool:
    if agent.is_reference:
        return True
    as_lines = agent.lines == "kept" and vector.pins == _LINES_PIN
    return (vector.decided_by_standard or as_lines or vector.kind in _UNSAFE) and "status" not in vector.message


def _carriable_vectors(case: Case, agent: Agent, vectors: Sequence[MessageVector]) -> list[MessageVector]:
    """Return the vectors that the agent's bodies can carry, and mark the rows of the others as partly untested."""
    lost_parts = {one.id: None if agent.is_reference else agent.lost_part(message_of(one.message)) for one in vectors}
    for row in _VERIFY_ROWS:
        reasons = Counter(
            lost_parts[one.id]
            for one in vectors
            if lost_parts[one.id] and row in find_rows(one, ours=agent.is_reference)
        )
        for reason, count in reasons.items():
            untried_trial = f"{count} vectors, since [agent] verify_body cannot carry {reason}"
            case.mark_not_applicable(row, "the agent's body cannot carry these vectors", skipped_trial=untried_trial)
    return [one for one in vectors if lost_parts[one.id] is None]


def find_rows(vector: MessageVector, *, ours: bool) -> tuple[str, ...]:
    """Return the rows that judge the verdict on a vector.

    Other targets than the reference may require young signatures, or know fewer components. There a valid vector counts
    for AGENT-VERIFY-11, and the suite's fresh messages decide AGENT-VERIFY-01.
    """
    named_rows = tuple(row for row in vector.requirements if row in _VERIFY_ROWS and (ours or row != _VALID_ROW))
    return named_rows or (_RFC_ROW,)


@check(
    *(_STATUS_ROW, _ERRORS_ROW, *_VERIFY_ROWS, *_EXPLAIN_ROWS, "AGENT-EXPLAIN-05", RESULT_ROW),
    surface="agent",
    fix="Build the signature base by RFC 9421 section 2.5, verify it under the caller's key, compare Content-Digest by "
    "RFC 9530, and report every failure in a result with 200. Explain by the same code as verify.",
    quick=sample("vectors, all that hold and one for each kind of fault"),
)
async def vectors_are_judged(case: Case) -> None:
    """Every vector of RFC 9421 and RFC 9530 is judged by verify and explain as its standard says, always with 200.

    Sends valid messages and messages with one fault each to both, among them the RFC's own examples. Expects the right
    verdict, an error if it is negative, the same verdict from explain, its base byte for byte, and notes. If the target
    claims the specification, expects each member of both answers.
    """
    agent = await agent_of(case)
    takes_only_young = await requires_young(case, agent)
    if takes_only_young:
        case.note("the agent accepts only young signatures: valid vectors, which are all old, are not judged")

    async def send_vector(vector_answers: MessageVector) -> _VectorAnswers:
        return _VectorAnswers(
            vector_answers,
            await agent.send_vector(VERIFY, vector_answers),
            await agent.send_vector(EXPLAIN, vector_answers),
            takes_only_young,
        )

    all_answers = await run_concurrently(
        map(send_vector, case.sample(_carriable_vectors(case, agent, choose_vectors(agent)), _group_key)),
        at_once=_AT_ONCE,
    )
    for vector_answers in all_answers:
        _judge_verdict(case, agent, vector_answers)
        _judge_explanation(case, agent, vector_answers)
    _judge_notes(case, agent, all_answers)
    _judge_members(case, agent, all_answers)
    for row in [row for row in _VERIFY_ROWS if takes_only_young and row not in case.judged_rows and row != _VALID_ROW]:
        case.mark_not_applicable(row, "the agent accepts only young signatures; fresh messages judge it")
    for row in () if agent.is_reference else (_VALID_ROW, _ERRORS_ROW, "AGENT-EXPLAIN-05"):
        case.mark_not_applicable(row, "the vectors judge it on the reference only; fresh messages judge it everywhere")


async def requires_young(case: Case, agent: Agent) -> bool:
    """Return whether another target than the reference refuses a message only for the age of its signature."""
    if agent.is_reference:
        return False
    fresh, old = await agent.verify(signed(case)), await agent.verify(signed(case, parameters={"created": _OLD_TIME}))
    return agent.validity(fresh) is True and agent.validity(old) is False


def _group_key(vector: MessageVector) -> object:
    """Return the kind of a vector's fault. A quick look takes one vector of each kind.

    Each valid vector is a kind by itself, because each tests another reading of the standard.
    """
    return vector.id if vector.expected.valid else vector.kind


def _judge_verdict(case: Case, agent: Agent, vector_answers: _VectorAnswers) -> None:
    expected, answer, where = vector_answers.vector.expected, vector_answers.verify_answer, vector_answers.where
    fault = vector_answers.vector.fault or "a valid message"
    is_grey_answer = is_grey(agent, vector_answers.vector)
    if not expected.valid:
        allowed_statuses = {_OK, _UNPROCESSABLE} if is_grey_answer else {_OK}
        requirement = f"200 for: {fault}"
        case.expect(
            _STATUS_ROW, answer.status in allowed_statuses, requirement, answer.status, exchange=answer, where=where
        )
    validity = agent.validity(answer) if answer.status == _OK else None
    holds = validity is expected.valid or (not expected.valid and is_grey_answer and answer.status == _UNPROCESSABLE)
    if (
        validity is False
        and expected.valid
        and (vector_answers.vector.policy or vector_answers.by_age)
        and not agent.is_reference
    ):
        return  # another target may require more than this vector's caller; a policy's members may be unknown to it
    requirement, beyond = (
        f"{'valid' if expected.valid else 'not valid'}: {fault}",
        _open_point(agent, vector_answers.vector),
    )
    hint = find_verdict_hint(agent, answer) if expected.valid else None
    for row in find_rows(vector_answers.vector, ours=agent.is_reference):
        case.expect(
            row,
            holds,
            requirement,
            _describe_validity(answer, validity),
            exchange=answer,
            where=where,
            beyond=beyond,
            hint=hint,
        )
    if answer.status == _OK:
        _judge_errors(case, agent, vector_answers)


def _open_point(agent: Agent, vector: MessageVector) -> str | None:
    """Return the point about a vector that the interface leaves open, for a target that is not the reference."""
    if agent.is_reference:
        return None
    if vector.kind in _UNSAFE:
        return _NO_CLAUSE
    if vector.expected.valid:
        return MAY_DEMAND_MORE
    has_named_row = any(row in _VERIFY_ROWS for row in vector.requirements)
    return None if has_named_row or vector.expected.stage != "headers" else _LENIENT


def is_grey(agent: Agent, vector: MessageVector) -> bool:
    """Return whether 422 also passes as a negative result: whether such fields or keys are malformed is open (C-08)."""
    return not agent.is_reference and (vector.expected.stage == "headers" or vector.kind in _UNSAFE)


def _judge_errors(case: Case, agent: Agent, vector_answers: _VectorAnswers) -> None:
    errors = agent.errors(vector_answers.verify_answer)
    expected, answer, where = vector_answers.vector.expected, vector_answers.verify_answer, vector_answers.where
    if errors is None and not agent.is_reference:
        return
    if not expected.valid and agent.validity(answer) is False:
        requirement = "at least one error with a negative result"
        case.expect(_ERRORS_ROW, bool(errors), requirement, errors, exchange=answer, where=where)
    # Policies are not in the RFC, so another target may apply its own policy and report its faults as well. A target
    # that knows fewer components reports them as unknown, whatever else is wrong with the message.
    of_its_own = not agent.is_reference and (vector_answers.vector.policy or not is_usual(vector_answers.vector))
    open_codes = of_its_own or vector_answers.by_age or code_is_open(vector_answers.vector)
    if open_codes or expected.valid is not agent.validity(answer):
        return
    try:
        codes = agent.codes(answer)
    except Inconclusive as reason:
        if not expected.valid:  # a valid message needs no code
            case.mark_inconclusive(_ERRORS_ROW, str(reason), exchange=answer)
        return
    if codes is not None:
        expected_codes = frozenset(map(agent.own_code, expected.codes))
        requirement = f"the codes {', '.join(sorted(expected_codes)) or 'of no fault'}"
        case.expect(_ERRORS_ROW, codes == expected_codes, requirement, sorted(codes), exchange=answer, where=where)


def code_is_open(vector: MessageVector) -> bool:
    """Return whether no clause states the code of a vector's fault, because the suite's own decision refuses it."""
    return any(pin.startswith("decision") for pin in vector.pins)


def _judge_explanation(case: Case, agent: Agent, vector_answers: _VectorAnswers) -> None:
    expected, answer, where = vector_answers.vector.expected, vector_answers.explain_answer, vector_answers.where
    is_grey_answer = is_grey(agent, vector_answers.vector)
    if not expected.valid:
        allowed_statuses = {_OK, _UNPROCESSABLE} if is_grey_answer else {_OK}
        case.expect(
            "AGENT-EXPLAIN-12", answer.status in allowed_statuses, "200", answer.status, exchange=answer, where=where
        )
    if answer.status == vector_answers.verify_answer.status == _OK:
        verify_validity, explain_validity = agent.validity(vector_answers.verify_answer), agent.verdict(answer)
        judge_agreement(
            case,
            agent,
            (verify_validity, explain_validity),
            f"verify: {verify_validity}; explain: {explain_validity}",
            answer,
            where,
        )
    _judge_base(case, agent, vector_answers)
    # No clause states what explain computes for a field without a digest of a known algorithm.
    if agent.is_reference and agent.bindings.digest_at is not None and not _NO_DIGEST & set(expected.codes):
        _judge_digest(case, agent, vector_answers)


def _judge_base(case: Case, agent: Agent, vector_answers: _VectorAnswers) -> None:
    """Judge the base of an explanation, or leave it open if a verifier may not know the covered components.

    A base that has a line for a component shows that the agent knows it, so a wrong line decides.
    """
    expected_base, answer = vector_answers.vector.signature_base, vector_answers.explain_answer
    if expected_base is None:
        return
    base = agent.base(answer)
    takes_it = vector_answers.verify_answer.status == _OK and agent.validity(vector_answers.verify_answer) is True
    is_known = agent.is_reference or is_usual(vector_answers.vector) or takes_it
    if is_known or base is not None:
        requirement = f"the base, byte for byte: {expected_base!r}"
        # Only a line that is absent shows that the agent may not know its component.
        beyond = None if is_known or has_wrong_line(base or "", expected_base) else MAY_DEMAND_MORE
        row, holds = "AGENT-EXPLAIN-02", base == expected_base
        case.expect(row, holds, requirement, repr(base), exchange=answer, where=vector_answers.where, beyond=beyond)


def is_usual(vector: MessageVector) -> bool:
    """Return whether a vector covers only fields and parts of the request by name, as every verifier knows them."""
    inputs = message_of(vector.message).field_lines("signature-input")
    components = [
        found for text in inputs for inner in _COVERED_LIST.findall(text) for found in _COMPONENT.findall(inner)
    ]
    return all(not more and (not name.startswith("@") or name in _USUAL_PARTS) for name, more in components)


def _judge_digest(case: Case, agent: Agent, vector_answers: _VectorAnswers) -> None:
    message = message_of(vector_answers.vector.message)
    shown_digest = answer_reader.at(vector_answers.explain_answer.read_object(), agent.bindings.digest_at or "")
    digests = compute_digests(message.body)
    requirement = f"sha-256 or sha-512 of the content: {', '.join(digests)}"
    # If the field names sha-512, either digest of the content is right.
    has_512 = "sha-512" in (message.field(FIELD) or "")
    holds = shown_digest in (digests if has_512 else digests[:1])
    case.expect(
        "AGENT-EXPLAIN-05",
        holds,
        requirement,
        shown_digest,
        exchange=vector_answers.explain_answer,
        where=vector_answers.where,
    )


def _judge_notes(case: Case, agent: Agent, all_answers: Sequence[_VectorAnswers]) -> None:
    """Judge the notes of failures: always at least one, and not the same for every fault."""
    failures = [
        vector_answers
        for vector_answers in all_answers
        if vector_answers.explain_answer.status == _OK and agent.verdict(vector_answers.explain_answer) is False
    ]
    kinds: set[tuple[str, ...]] = set()
    for vector_answers in failures:
        notes = agent.notes(vector_answers.explain_answer)
        if notes is None and not agent.is_reference:
            continue
        readable = [note for note in notes or () if is_readable(note)]
        kinds.add(tuple(notes or ()))
        requirement = "a note that explains what to do"
        case.expect(
            "AGENT-EXPLAIN-06",
            bool(readable),
            requirement,
            notes,
            exchange=vector_answers.explain_answer,
            where=vector_answers.where,
        )
    if agent.is_reference:
        requirement = "notes that depend on the fault"
        case.expect("AGENT-EXPLAIN-06", len(kinds) >= _KINDS_OF_NOTES, requirement, f"{len(kinds)} different ones")
    elif not kinds:
        case.mark_inconclusive("AGENT-EXPLAIN-06", "unbound: no fix notes can be found; give [agent] notes_at")


def _judge_members(case: Case, agent: Agent, all_answers: Sequence[_VectorAnswers]) -> None:
    """Judge the members of each answer (6.3)."""
    if not agent.has_specified_names:
        return
    for one in all_answers:
        request = one.vector.request
        judge_result_members(case, agent, request, one.verify_answer, one.where, is_explanation=False)
        judge_result_members(case, agent, request, one.explain_answer, one.where, is_explanation=True)


def _describe_validity(answer: Answer, validity: bool | None) -> str:
    word = {True: "valid", False: "not valid", None: "nothing about validity"}[validity]
    return f"{answer.status}, {word}"
