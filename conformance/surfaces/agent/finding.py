"""Finding an agent's names by asking: what nobody binds on a target that is not ours is told by answers that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.oracles.message_signatures.keys import read_private
from conformance.oracles.message_signatures.message import Message
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import answers
from conformance.surfaces.agent.access import Agent
from conformance.surfaces.agent.found import PROBING_SEED, VALIDITY, AgentDiscovery
from conformance.surfaces.agent.paths import EXPLAIN, SIGN
from conformance.surfaces.agent.subjects import FIELDS, Subject, subject
from conformance.surfaces.agent.suggested_bodies import suggest_bodies, with_content_members
from conformance.surfaces.agent.telling import explain_unreadable, find_places, find_verdict_place
from conformance.surfaces.agent.templates import CANDIDATES, without_key
from conformance.surfaces.openapi_documents import document_below, places_of
from conformance.target import AgentBindings

_OK = 200
# A body that is refused so may be one of another shape; any other status says something of the operation.
_NOT_UNDERSTOOD: Final = frozenset({400, 422})
_CONTENT_LOST: Final = (
    "unbound: the content's member in `verify_body`: a message that holds is valid without content and not with it; "
    "give [agent] verify_body, with the member that takes {body_b64} or {body}"
)
_TO_SIGN = Message("GET", "api.example.org", "https", "/orders", (("Accept", "application/json"),))


@dataclass(frozen=True, slots=True)
class _Question:
    """A message that holds, and others that do not."""

    good: Subject
    wrong: tuple[Subject, ...]


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one body's answers tell.

    Attributes:
        bindings: The body with the places that were found.
        apart: Whether the answers tell the message that holds from the others.
        valid: Whether they say of the message that holds that it does.
        reason: What is to be bound where they tell messages apart in unknown words.
    """

    bindings: AgentBindings
    distinguishes: bool
    accepts_good: bool
    reason: str | None


async def discover_names(agent: Agent) -> AgentDiscovery:
    """Return an agent's bindings with what asking could find out.

    Each known body asks about a message that holds and about three that do not. The body is understood where some place
    of the answers says so; what it is called matters only among places that do. A body that nobody bound, under which
    no message that holds is valid, judges nobody.

    Raises:
        Inconclusive: No body is known that verify understands.
        Unreachable: It gave no answer.
    """
    with_content, without = _questions(agent.case)
    bound_body = agent.bindings.verify_body
    if bound_body is None:
        reading = await _guess_body(agent, with_content, without)
    else:
        reading = await _read_body(agent, bound_body, with_content)
        if reading is not None and not reading.valid and agent.bindings.validity_at is None:
            bare = await _read_body(agent, bound_body, without)
            if bare is not None and bare.apart:
                raise Inconclusive(_CONTENT_LOST)
    if reading is None:
        raise Inconclusive("unbound: no body is known that verify understands; give [agent] verify_body")
    unbound = {} if reading.valid or reading.reason is None else {VALIDITY: reading.reason}
    known_agent = replace(agent, bindings=reading.bindings)
    return await _with_other_bodies(known_agent, with_content.good, with_content.wrong, unbound)


def _questions(case: Case) -> tuple[_Question, _Question]:
    """Return what is asked with content and without: a body may lose the content alone."""
    key = read_private(PROBING_SEED)
    good, bare = subject(case, key), subject(case, key, method="GET", body=b"")

    def wrong(honest: Subject) -> tuple[Subject, ...]:
        return honest.expecting(bytes(reversed(honest.key or b""))), honest.changed(target="/elsewhere")

    return _Question(good, (*wrong(good), good.changed(body=b"another body"))), _Question(bare, wrong(bare))


async def _read_body(agent: Agent, template: Mapping[str, Any], question: _Question) -> _Reading | None:
    """Return what the answers to a body tell, None where it is refused."""
    trial = _with_bindings(agent, verify_body=template)
    answer = await trial.verify(question.good)
    if answer.status != _OK:
        return None
    good, bad = answer.object(), [(await trial.verify(each)).object() for each in question.wrong]
    bindings = trial.bindings.model_copy(update=find_places(trial.bindings, good, bad))

    def said(document: Mapping[str, Any]) -> bool | None:
        return answers.validity(document, bindings.validity_at, bindings.validity_words)

    valid = said(good) is True
    apart = valid and all(said(each) is False for each in bad[:2])
    return _Reading(bindings, apart, valid, explain_unreadable(bindings, good, bad))


async def _guess_body(agent: Agent, with_content: _Question, without: _Question) -> _Reading | None:
    """Return what the first body tells under which a message that holds is valid.

    One under which it is valid only without content loses the content: the member for it is looked for.

    Raises:
        Inconclusive: No message that holds is valid, or none with content.
    """
    document = await document_below(agent.case.client, agent.url, places_of(agent.bindings.openapi_path)) or {}
    readings: list[_Reading] = []
    without_content: list[_Reading] = []
    for template in (*CANDIDATES, *suggest_bodies(document)):
        reading = await _read_body(agent, template, with_content)
        if reading is None:
            continue
        if reading.apart:
            return reading
        readings.append(reading)
        bare = await _read_body(agent, template, without)
        if bare is not None and (bare.apart or (bare.reason and not reading.reason and not reading.valid)):
            without_content.append(bare)
    for bare in without_content:
        for template in with_content_members(bare.bindings.verify_body or {}, document):
            reading = await _read_body(agent, template, with_content)
            if reading is not None and (reading.apart or (not bare.apart and reading.reason)):
                return reading
    if without_content:
        raise Inconclusive(_CONTENT_LOST)
    choice = next((one for one in readings if one.reason), None) or next((one for one in readings if one.valid), None)
    if choice is None and readings:
        raise Inconclusive(
            "unbound: no body is known under which verify finds a message that holds valid; give [agent] verify_body"
        )
    return choice


async def _with_other_bodies(
    agent: Agent, good: Subject, wrong: Sequence[Subject], unbound: Mapping[str, str]
) -> AgentDiscovery:
    """Return the names with the bodies of explain and sign, where they are not shaped as verify's is."""
    reasons, update = dict(unbound), {}

    def explain(template: Mapping[str, Any]) -> Any:
        return _with_bindings(agent, explain_body=template).explain(good)

    def sign(template: Mapping[str, Any]) -> Any:
        return _with_bindings(agent, sign_body=template).sign(_TO_SIGN)

    usual = agent.bindings.verify_body or {}
    for path, key, ask, bodies in (
        (EXPLAIN, "explain_body", explain, (usual, *CANDIDATES)),
        (SIGN, "sign_body", sign, tuple(map(without_key, (usual, *CANDIDATES)))),
    ):
        if getattr(agent.bindings, key) is not None:
            continue
        place, refusal = await _find_understood(ask, bodies)
        if refusal is not None:
            quotation = f"{refusal.status}: {refusal.body[:160].decode('utf-8', 'replace')}"
            reasons[path] = f"unbound: no body is known that {path} understands ({quotation}); give [agent] {key}"
        elif place:
            update[key] = bodies[place]
    known_agent = _with_bindings(agent, **update)
    bindings = known_agent.bindings if EXPLAIN in reasons else await _with_verdict(known_agent, good, wrong)
    return AgentDiscovery(bindings, reasons)


def _with_bindings(agent: Agent, **update: Any) -> Agent:
    return replace(agent, bindings=agent.bindings.model_copy(update=update))


async def _find_understood(ask: Any, bodies: Sequence[Mapping[str, Any]]) -> tuple[int, Answer | None]:
    """Return the place of the first body that is understood; where none is, how the usual one was refused.

    What is refused otherwise than as a body that is not understood, such as by 404, is judged as it stands.
    """
    usual: Answer = await ask(bodies[0])
    if usual.status not in _NOT_UNDERSTOOD:
        return 0, None
    for place, body in enumerate(bodies[1:], 1):
        if (await ask(body)).status == _OK:
            return place, None
    return 0, usual


async def _with_verdict(agent: Agent, good: Subject, wrong: Sequence[Subject]) -> AgentBindings:
    """Return the bindings with the place of an explanation's verdict, where it is not that of verify's validity."""
    bindings = agent.bindings
    answer = await agent.explain(good)
    words = bindings.validity_words
    at_validity = (
        None if bindings.validity_at is None else answers.validity(answer.object(), bindings.validity_at, words)
    )
    if bindings.verdict_at is not None or at_validity is not None or answer.status != _OK:
        return bindings
    negative = [(await agent.explain(each)).object() for each in wrong]
    return bindings.model_copy(update={"verdict_at": find_verdict_place(answer.object(), negative, words)})


async def agent_of(case: Case) -> Agent:
    """Return the agent of a run, its names bound or found.

    Raises:
        Inconclusive: No body is known that verify understands.
        Unreachable: It gave no answer.
    """
    profile = case.profile
    agent = Agent(case, profile.surfaces["agent"].url.rstrip("/"), profile.agent_bindings, profile.is_reference)
    if agent.ours:
        return agent
    known_agent: Agent = await case.session.find_once("the agent's names", lambda: _discover_agent(agent))
    return replace(agent, bindings=known_agent.bindings, unbound=known_agent.unbound, lines=known_agent.lines)


async def _discover_agent(agent: Agent) -> Agent:
    """Return an agent with its names, and with what it makes of an array of a field's lines."""
    known_agent = agent.as_found(await discover_names(agent))
    if VALIDITY in known_agent.unbound:
        return known_agent
    fields = (*FIELDS, ("X-List", "a"), ("X-List", "b"))
    components = ("@method", "@authority", "@path", "@query", "content-digest", "x-list")
    lines_subject = subject(agent.case, read_private(PROBING_SEED), fields=fields, components=components)
    answer = await known_agent.verify(lines_subject)
    if answer.status == _OK and known_agent.validity(answer) is not False:
        return known_agent
    agent.case.note(f"two lines of a field as an array are answered {answer.status}: they are sent joined by a comma")
    return replace(known_agent, lines="misread" if answer.status == _OK else "refused")
