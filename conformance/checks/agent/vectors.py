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

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer
from conformance.judging.agent.agreement import digests_of, is_readable, judge_agreement
from conformance.judging.agent.verdicts import MAY_DEMAND_MORE, verdict_hint
from conformance.oracles.message_signatures.digests import FIELD
from conformance.oracles.message_signatures.members import message_of
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import EXPLAIN, VERIFY, Agent, agent_of, answers
from conformance.surfaces.agent import subject as signed
from conformance.vectors import MessageVector, message_signatures

_STATUS, _AS_THE_RFC = "AGENT-VERIFY-03", "AGENT-VERIFY-11"
_LISTED, _SIGNED = "AGENT-VERIFY-04", "AGENT-VERIFY-01"
_NAMED = (
    *("AGENT-VERIFY-01", "AGENT-VERIFY-02", "AGENT-VERIFY-06", "AGENT-VERIFY-07", "AGENT-VERIFY-08", "AGENT-VERIFY-09"),
    *("AGENT-VERIFY-10", "AGENT-VERIFY-11", "AGENT-VERIFY-12", "AGENT-VERIFY-13", "AGENT-VERIFY-14"),
)
_EXPLAINED = ("AGENT-EXPLAIN-02", "AGENT-EXPLAIN-06", "AGENT-EXPLAIN-11", "AGENT-EXPLAIN-12")
_AT_ONCE = 8
_OK, _UNPROCESSABLE = 200, 422
_KINDS_OF_NOTES = 5
# Vectors with this pin decide another target as well, if it takes a field's lines as an array.
_LINES = ("profile 6.2 headers as arrays",)
# Kinds that no verifier should accept, although no clause requires a refusal. Accepting them only warns.
_UNSAFE = frozenset({"parameters/expired", "key/small-order", "key/small-order-did-key"})
_NO_CLAUSE = "no clause requires a verifier to refuse it, although accepting it is unsafe"
_LENIENT = "the row does not say how strictly a field is parsed"
_NO_DIGEST = frozenset({"content_digest_malformed", "content_digest_unsupported"})
# Parts of a request that every verifier knows; how components are written in Signature-Input.
_USUAL_PARTS = frozenset({"@method", "@authority", "@path", "@query"})
_COVERED, _COMPONENT = re.compile(r"\(([^()]*)\)"), re.compile(r'"([^"]*)"(;?)')
# Seconds since 1970: the first of January 2025, the time of most vectors.
_LONG_AGO = 1_735_689_600


@dataclass(frozen=True, slots=True)
class _Judged:
    """A vector with both answers to it.

    Attributes:
        vector: The message that was sent.
        verified: The answer of verify.
        explained: The answer of explain.
        by_age: Whether the target refuses old signatures, and so may refuse any vector.
    """

    vector: MessageVector
    verified: Answer
    explained: Answer
    by_age: bool = False

    @property
    def where(self) -> dict[str, str]:
        """The id by which a reader finds the vector."""
        return {"vector": self.vector.id}


def chosen(agent: Agent) -> list[MessageVector]:
    """Return the vectors that can judge the target."""
    return [one for one in message_signatures() if "agent" in one.doors and _fits(agent, one)]


def _fits(agent: Agent, one: MessageVector) -> bool:
    if agent.is_reference:
        return True
    as_lines = agent.lines == "kept" and one.pins == _LINES
    return (one.decided_by_standard or as_lines or one.kind in _UNSAFE) and "status" not in one.message


def _carried(case: Case, agent: Agent, vectors: Sequence[MessageVector]) -> list[MessageVector]:
    """Return the vectors that the agent's bodies can carry, and mark the rows of the others as partly untested."""
    lost = {one.id: None if agent.is_reference else agent.lost_part(message_of(one.message)) for one in vectors}
    for row in _NAMED:
        reasons = Counter(lost[one.id] for one in vectors if lost[one.id] and row in rows_of(one, ours=agent.is_reference))
        for reason, count in reasons.items():
            untried = f"{count} vectors, since [agent] verify_body cannot carry {reason}"
            case.mark_not_applicable(row, "the agent's body cannot carry these vectors", skipped_trial=untried)
    return [one for one in vectors if lost[one.id] is None]


def rows_of(one: MessageVector, *, ours: bool) -> tuple[str, ...]:
    """Return the rows that judge the verdict on a vector.

    Other targets than the reference may require young signatures, or know fewer components. There a valid vector counts
    for AGENT-VERIFY-11, and the suite's fresh messages decide AGENT-VERIFY-01.
    """
    named = tuple(row for row in one.requirements if row in _NAMED and (ours or row != _SIGNED))
    return named or (_AS_THE_RFC,)


@check(
    *(_STATUS, _LISTED, *_NAMED, *_EXPLAINED, "AGENT-EXPLAIN-05"),
    surface="agent",
    fix="Build the signature base by RFC 9421 section 2.5, verify it under the caller's key, compare Content-Digest by "
    "RFC 9530, and report every failure in a result with 200. Explain by the same code as verify.",
    quick=sample("vectors, all that hold and one for each kind of fault"),
)
async def vectors_are_judged(case: Case) -> None:
    """Every vector of RFC 9421 and RFC 9530 is judged by verify and explain as its standard says, always with 200.

    Sends valid messages and messages with one fault each to both, among them the RFC's own examples. Expects the right
    verdict, an error if it is negative, the same verdict from explain, its base byte for byte, and notes.
    """
    agent = await agent_of(case)
    young = await wants_young(case, agent)
    if young:
        case.note("the agent accepts only young signatures: valid vectors, which are all old, are not judged")

    async def judged(one: MessageVector) -> _Judged:
        return _Judged(one, await agent.send_vector(VERIFY, one), await agent.send_vector(EXPLAIN, one), young)

    everything = await run_concurrently(
        map(judged, case.sample(_carried(case, agent, chosen(agent)), _kind)), at_once=_AT_ONCE
    )
    for one in everything:
        _judge_verdict(case, agent, one)
        _judge_explanation(case, agent, one)
    _judge_notes(case, agent, everything)
    for row in [row for row in _NAMED if young and row not in case.judged_rows and row != _SIGNED]:
        case.mark_not_applicable(row, "the agent accepts only young signatures; fresh messages judge it")
    for row in () if agent.is_reference else (_SIGNED, _LISTED, "AGENT-EXPLAIN-05"):
        case.mark_not_applicable(row, "the vectors judge it on the reference only; fresh messages judge it everywhere")


async def wants_young(case: Case, agent: Agent) -> bool:
    """Return whether another target than the reference refuses a message only for the age of its signature."""
    if agent.is_reference:
        return False
    fresh, old = await agent.verify(signed(case)), await agent.verify(signed(case, parameters={"created": _LONG_AGO}))
    return agent.validity(fresh) is True and agent.validity(old) is False


def _kind(one: MessageVector) -> object:
    """Return the kind of a vector's fault. A quick look takes one vector of each kind.

    Each valid vector is a kind by itself, because each tests another reading of the standard.
    """
    return one.id if one.expected.valid else one.kind


def _judge_verdict(case: Case, agent: Agent, one: _Judged) -> None:
    expected, answer, where = one.vector.expected, one.verified, one.where
    fault = one.vector.fault or "a valid message"
    grey = is_grey(agent, one.vector)
    if not expected.valid:
        allowed = {_OK, _UNPROCESSABLE} if grey else {_OK}
        told = f"200 for: {fault}"
        case.expect(_STATUS, answer.status in allowed, told, answer.status, exchange=answer, where=where)
    found = agent.validity(answer) if answer.status == _OK else None
    holds = found is expected.valid or (not expected.valid and grey and answer.status == _UNPROCESSABLE)
    if found is False and expected.valid and (one.vector.policy or one.by_age) and not agent.is_reference:
        return  # another target may require more than this vector's caller; a policy's members may be unknown to it
    told, beyond = f"{'valid' if expected.valid else 'not valid'}: {fault}", _open_point(agent, one.vector)
    hint = verdict_hint(agent, answer) if expected.valid else None
    for row in rows_of(one.vector, ours=agent.is_reference):
        case.expect(row, holds, told, _said(answer, found), exchange=answer, where=where, beyond=beyond, hint=hint)
    if answer.status == _OK:
        _judge_errors(case, agent, one)


def _open_point(agent: Agent, vector: MessageVector) -> str | None:
    """Return the point about a vector that the interface leaves open, for a target that is not the reference."""
    if agent.is_reference:
        return None
    if vector.kind in _UNSAFE:
        return _NO_CLAUSE
    if vector.expected.valid:
        return MAY_DEMAND_MORE
    named = any(row in _NAMED for row in vector.requirements)
    return None if named or vector.expected.stage != "headers" else _LENIENT


def is_grey(agent: Agent, vector: MessageVector) -> bool:
    """Return whether 422 also passes as a negative result: whether such fields or keys are malformed is open (C-08)."""
    return not agent.is_reference and (vector.expected.stage == "headers" or vector.kind in _UNSAFE)


def _judge_errors(case: Case, agent: Agent, one: _Judged) -> None:
    listed = agent.errors(one.verified)
    expected, answer, where = one.vector.expected, one.verified, one.where
    if listed is None and not agent.is_reference:
        return
    if not expected.valid and agent.validity(answer) is False:
        told = "at least one error with a negative result"
        case.expect(_LISTED, bool(listed), told, listed, exchange=answer, where=where)
    # Policies are not in the RFC, so another target may apply its own policy and report its faults as well. A target
    # that knows fewer components reports them as unknown, whatever else is wrong with the message.
    of_its_own = not agent.is_reference and (one.vector.policy or not is_usual(one.vector))
    open_codes = of_its_own or one.by_age or code_is_open(one.vector)
    if open_codes or expected.valid is not agent.validity(answer):
        return
    try:
        codes = agent.codes(answer)
    except Inconclusive as reason:
        if not expected.valid:  # a valid message needs no code
            case.mark_inconclusive(_LISTED, str(reason), exchange=answer)
        return
    if codes is not None:
        wanted = frozenset(map(agent.own_code, expected.codes))
        told = f"the codes {', '.join(sorted(wanted)) or 'of no fault'}"
        case.expect(_LISTED, codes == wanted, told, sorted(codes), exchange=answer, where=where)


def code_is_open(one: MessageVector) -> bool:
    """Return whether no clause states the code of a vector's fault, because the suite's own decision refuses it."""
    return any(pin.startswith("decision") for pin in one.pins)


def _judge_explanation(case: Case, agent: Agent, one: _Judged) -> None:
    expected, answer, where = one.vector.expected, one.explained, one.where
    grey = is_grey(agent, one.vector)
    if not expected.valid:
        allowed = {_OK, _UNPROCESSABLE} if grey else {_OK}
        case.expect("AGENT-EXPLAIN-12", answer.status in allowed, "200", answer.status, exchange=answer, where=where)
    if answer.status == one.verified.status == _OK:
        said, explained = agent.validity(one.verified), agent.verdict(answer)
        judge_agreement(case, agent, (said, explained), f"verify: {said}; explain: {explained}", answer, where)
    _judge_base(case, agent, one)
    # No clause states what explain computes for a field without a digest of a known algorithm.
    if agent.is_reference and agent.bindings.digest_at is not None and not _NO_DIGEST & set(expected.codes):
        _judge_digest(case, agent, one)


def _judge_base(case: Case, agent: Agent, one: _Judged) -> None:
    """Judge the base of an explanation, or leave it open if a verifier may not know the covered components."""
    wanted, answer = one.vector.signature_base, one.explained
    if wanted is None:
        return
    base = agent.base(answer)
    takes_it = one.verified.status == _OK and agent.validity(one.verified) is True
    known = agent.is_reference or is_usual(one.vector) or takes_it
    if known or base is not None:
        told, beyond = f"the base, byte for byte: {wanted!r}", None if known else MAY_DEMAND_MORE
        row, holds = "AGENT-EXPLAIN-02", base == wanted
        case.expect(row, holds, told, repr(base), exchange=answer, where=one.where, beyond=beyond)


def is_usual(one: MessageVector) -> bool:
    """Return whether a vector covers only fields and parts of the request by name, as every verifier knows them."""
    inputs = message_of(one.message).field_lines("signature-input")
    covered = [found for text in inputs for inner in _COVERED.findall(text) for found in _COMPONENT.findall(inner)]
    return all(not more and (not name.startswith("@") or name in _USUAL_PARTS) for name, more in covered)


def _judge_digest(case: Case, agent: Agent, one: _Judged) -> None:
    message = message_of(one.vector.message)
    found = answers.at(one.explained.object(), agent.bindings.digest_at or "")
    known = digests_of(message.body)
    told = f"sha-256 or sha-512 of the content: {', '.join(known)}"
    has_512 = "sha-512" in (message.field(FIELD) or "")
    holds = found in (known if has_512 else known[:1])
    case.expect("AGENT-EXPLAIN-05", holds, told, found, exchange=one.explained, where=one.where)


def _judge_notes(case: Case, agent: Agent, everything: Sequence[_Judged]) -> None:
    """Judge the notes of failures: always at least one, and not the same for every fault."""
    failed = [one for one in everything if one.explained.status == _OK and agent.verdict(one.explained) is False]
    kinds: set[tuple[str, ...]] = set()
    for one in failed:
        notes = agent.notes(one.explained)
        if notes is None and not agent.is_reference:
            continue
        readable = [note for note in notes or () if is_readable(note)]
        kinds.add(tuple(notes or ()))
        told = "a note that explains what to do"
        case.expect("AGENT-EXPLAIN-06", bool(readable), told, notes, exchange=one.explained, where=one.where)
    if agent.is_reference:
        told = "notes that depend on the fault"
        case.expect("AGENT-EXPLAIN-06", len(kinds) >= _KINDS_OF_NOTES, told, f"{len(kinds)} different ones")
    elif not kinds:
        case.mark_inconclusive("AGENT-EXPLAIN-06", "unbound: no fix notes can be found; give [agent] notes_at")


def _said(answer: Answer, found: bool | None) -> str:
    word = {True: "valid", False: "not valid", None: "nothing about validity"}[found]
    return f"{answer.status}, {word}"
