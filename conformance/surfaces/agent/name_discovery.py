"""Discovery of an agent's names: known bodies are tried until its answers distinguish valid and invalid messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.oracles.message_signatures.keys import read_private
from conformance.oracles.message_signatures.message import Message
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import answer_reader
from conformance.surfaces.agent.access import Agent
from conformance.surfaces.agent.answer_places import explain_unreadable, find_places, find_verdict_place
from conformance.surfaces.agent.discovered_names import PROBING_SEED, VALIDITY, AgentDiscovery
from conformance.surfaces.agent.paths import EXPLAIN, SIGN
from conformance.surfaces.agent.subjects import FIELDS, Subject, subject
from conformance.surfaces.agent.suggested_bodies import suggest_bodies, with_content_members
from conformance.surfaces.agent.templates import CANDIDATES, without_key
from conformance.surfaces.openapi_documents import document_below, places_of
from conformance.target import AgentBindings

_OK = 200
# With these statuses the body may have the wrong shape. Any other status is about the operation itself.
_NOT_UNDERSTOOD: Final = frozenset({400, 422})
_CONTENT_LOST: Final = (
    "unbound: the content's member in `verify_body`: a message that holds is valid without content and not with it; "
    "give [agent] verify_body, with the member that takes {body_b64} or {body}"
)
_TO_SIGN = Message("GET", "api.example.org", "https", "/orders", (("Accept", "application/json"),))


@dataclass(frozen=True, slots=True)
class _Question:
    """A valid message, and invalid ones."""

    good: Subject
    wrong: tuple[Subject, ...]


@dataclass(frozen=True, slots=True)
class _Reading:
    """The conclusions from the answers to one body.

    Attributes:
        bindings: The body with the discovered places.
        distinguishes: Whether the answers distinguish the valid message from the others.
        accepts_good: Whether they call the valid message valid.
        reason: The key to bind if they distinguish messages in unknown words.
    """

    bindings: AgentBindings
    distinguishes: bool
    accepts_good: bool
    reason: str | None


async def discover_names(agent: Agent) -> AgentDiscovery:
    """Return an agent's bindings with the discovered names.

    Each known body asks about a valid message and about three invalid ones. The agent understands the body if some
    place of its answers distinguishes them. The name of that place matters only if several places do.

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
        if reading is not None and not reading.accepts_good and agent.bindings.validity_at is None:
            bare = await _read_body(agent, bound_body, without)
            if bare is not None and bare.distinguishes:
                raise Inconclusive(_CONTENT_LOST)
    # The agent does not understand the bound body at all, so no row can be judged.
    if reading is None:
        raise Inconclusive("unbound: no body is known that verify understands; give [agent] verify_body")
    # An unbound body under which even the valid message is invalid says nothing about the agent, so
    # no row is judged by it.
    unbound = {} if reading.accepts_good or reading.reason is None else {VALIDITY: reading.reason}
    known_agent = replace(agent, bindings=reading.bindings)
    return await _with_other_bodies(known_agent, with_content.good, with_content.wrong, unbound)


def _questions(case: Case) -> tuple[_Question, _Question]:
    """Return the questions with and without content, because a body may lose only the content."""
    key = read_private(PROBING_SEED)
    # The second message has no content, so that a body that loses only the content still shows
    # its other members.
    good, bare = subject(case, key), subject(case, key, method="GET", body=b"")

    def wrong(honest: Subject) -> tuple[Subject, ...]:
        # Another expected key and another target: both break the signature without any change
        # of the body.
        return honest.with_expected_key(bytes(reversed(honest.key or b""))), honest.with_changes(target="/elsewhere")

    return _Question(good, (*wrong(good), good.with_changes(body=b"another body"))), _Question(bare, wrong(bare))


async def _read_body(agent: Agent, template: Mapping[str, Any], question: _Question) -> _Reading | None:
    """Return the conclusions from the answers to a body, or None if it is refused."""
    trial = _with_bindings(agent, verify_body=template)
    answer = await trial.verify(question.good)
    if answer.status != _OK:
        return None
    good, bad = answer.read_object(), [(await trial.verify(each)).read_object() for each in question.wrong]
    bindings = trial.bindings.model_copy(update=find_places(trial.bindings, good, bad))

    def read_validity(document: Mapping[str, Any]) -> bool | None:
        return answer_reader.validity(document, bindings.validity_at, bindings.validity_words)

    accepts_good = read_validity(good) is True
    # An agent need not compare the digest with the content, so the third message, with another content,
    # may pass. A row judges that, and the place is still understood.
    distinguishes = accepts_good and all(read_validity(each) is False for each in bad[:2])
    return _Reading(bindings, distinguishes, accepts_good, explain_unreadable(bindings, good, bad))


async def _guess_body(agent: Agent, with_content: _Question, without: _Question) -> _Reading | None:
    """Return the reading of the first body under which a valid message is accepted.

    If a body works only without content, it loses the content, and the member for the content is searched.

    Raises:
        Inconclusive: No valid message is accepted, or none with content.
    """
    document = await document_below(agent.case.client, agent.url, places_of(agent.bindings.openapi_path)) or {}
    readings: list[_Reading] = []
    without_content: list[_Reading] = []
    for template in (*CANDIDATES, *suggest_bodies(document)):
        reading = await _read_body(agent, template, with_content)
        if reading is None:
            continue
        if reading.distinguishes:
            return reading
        readings.append(reading)
        bare = await _read_body(agent, template, without)
        if bare is not None and (
            bare.distinguishes or (bare.reason and not reading.reason and not reading.accepts_good)
        ):
            without_content.append(bare)
    for bare in without_content:
        for template in with_content_members(bare.bindings.verify_body or {}, document):
            reading = await _read_body(agent, template, with_content)
            if reading is not None and (reading.distinguishes or (not bare.distinguishes and reading.reason)):
                return reading
    if without_content:
        raise Inconclusive(_CONTENT_LOST)
    choice = next((one for one in readings if one.reason), None) or next(
        (one for one in readings if one.accepts_good), None
    )
    if choice is None and readings:
        raise Inconclusive(
            "unbound: no body is known under which verify finds a message that holds valid; give [agent] verify_body"
        )
    return choice


async def _with_other_bodies(
    agent: Agent, good: Subject, wrong: Sequence[Subject], unbound: Mapping[str, str]
) -> AgentDiscovery:
    """Return the names, with bodies of explain and sign that differ in shape from verify's."""
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
    """Return the place of the first body that is understood, or how the usual body was refused."""
    usual: Answer = await ask(bodies[0])
    # A 404, for example, does not complain about the body. The rows judge it as it is.
    if usual.status not in _NOT_UNDERSTOOD:
        return 0, None
    for place, body in enumerate(bodies[1:], 1):
        if (await ask(body)).status == _OK:
            return place, None
    return 0, usual


async def _with_verdict(agent: Agent, good: Subject, wrong: Sequence[Subject]) -> AgentBindings:
    """Return the bindings with the place of an explanation's verdict, if it differs from verify's place."""
    bindings = agent.bindings
    answer = await agent.explain(good)
    words = bindings.validity_words
    at_validity = (
        None
        if bindings.validity_at is None
        else answer_reader.validity(answer.read_object(), bindings.validity_at, words)
    )
    if bindings.verdict_at is not None or at_validity is not None or answer.status != _OK:
        return bindings
    negative = [(await agent.explain(each)).read_object() for each in wrong]
    return bindings.model_copy(update={"verdict_at": find_verdict_place(answer.read_object(), negative, words)})


async def agent_of(case: Case) -> Agent:
    """Return the agent of a run, with bound or discovered names.

    Raises:
        Inconclusive: No body is known that verify understands.
        Unreachable: It gave no answer.
    """
    profile = case.profile
    agent = Agent(case, profile.surfaces["agent"].url.rstrip("/"), profile.agent_bindings, profile.is_reference)
    if agent.is_reference:
        return agent
    known_agent: Agent = await case.session.find_once("the agent's names", lambda: _discover_agent(agent))
    return replace(agent, bindings=known_agent.bindings, unbound=known_agent.unbound, lines=known_agent.lines)


async def _discover_agent(agent: Agent) -> Agent:
    """Return an agent with its names, and with its treatment of an array of a field's lines."""
    known_agent = agent.with_discovery(await discover_names(agent))
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
