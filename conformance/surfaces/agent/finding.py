"""Finding an agent's names by asking: what nobody binds on a target that is not ours is told by answers that differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.oracles.message_signatures.keys import read_private
from conformance.oracles.message_signatures.message import Message
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import answers
from conformance.surfaces.agent.access import Agent
from conformance.surfaces.agent.found import PROBING_SEED, VALIDITY, Found
from conformance.surfaces.agent.paths import EXPLAIN, SIGN
from conformance.surfaces.agent.subjects import FIELDS, Subject, subject
from conformance.surfaces.agent.templates import CANDIDATES, unsigned
from conformance.target import AgentBindings

_OK = 200
# A body that is refused so may be one of another shape; any other status says something of the operation.
_NOT_UNDERSTOOD: Final = frozenset({400, 422})
_LONGEST_WORD: Final = 40
_TO_SIGN = Message("GET", "api.example.org", "https", "/orders", (("Accept", "application/json"),))


async def found_names(agent: Agent) -> Found:
    """Return an agent's bindings with what asking could find out.

    Each known body asks about a message that holds and about three that do not. The body is understood where some place
    of the answers says so; what it is called matters only among places that do.

    Raises:
        Inconclusive: No body is known that verify understands.
        Unreachable: It gave no answer.
    """
    bound = agent.bindings
    good = subject(agent.case, read_private(PROBING_SEED))
    wrong = (
        good.expecting(bytes(reversed(good.key or b""))),
        good.changed(target="/elsewhere"),
        good.changed(body=b"another body"),
    )
    understood: list[tuple[AgentBindings, str | None]] = []
    for template in (bound.verify_body,) if bound.verify_body is not None else CANDIDATES:
        one = replace(agent, bindings=bound.model_copy(update={"verify_body": template}))
        answer = await one.verify(good)
        if answer.status != _OK:
            continue
        negative = [(await one.verify(each)).object() for each in wrong]
        places = _places(one.bindings, answer.object(), negative)
        found = one.bindings.model_copy(update=places)
        if answers.validity(answer.object(), found.validity_at, found.validity_words):
            return await _with_other_bodies(replace(agent, bindings=found), good, wrong, {})
        understood.append((found, _unread(found, answer.object(), negative)))
    if not understood:
        raise Inconclusive("unbound: no body is known that verify understands; give [agent] verify_body")
    chosen, reason = next((one for one in understood if one[1] is not None), understood[0])
    unbound = {} if reason is None else {VALIDITY: reason}
    return await _with_other_bodies(replace(agent, bindings=chosen), good, wrong, unbound)


async def _with_other_bodies(
    agent: Agent, good: Subject, wrong: Sequence[Subject], unbound: Mapping[str, str]
) -> Found:
    """Return the names with the bodies of explain and sign, where they are not shaped as verify's is."""
    reasons, update = dict(unbound), {}

    def explain(template: Mapping[str, Any]) -> Any:
        return _bound(agent, explain_body=template).explain(good)

    def sign(template: Mapping[str, Any]) -> Any:
        return _bound(agent, sign_body=template).sign(_TO_SIGN)

    usual = agent.bindings.verify_body or {}
    for path, key, ask, bodies in (
        (EXPLAIN, "explain_body", explain, (usual, *CANDIDATES)),
        (SIGN, "sign_body", sign, tuple(map(unsigned, (usual, *CANDIDATES)))),
    ):
        if getattr(agent.bindings, key) is not None:
            continue
        place, refused = await _first_understood(ask, bodies)
        if refused is not None:
            told = f"{refused.status}: {refused.body[:160].decode('utf-8', 'replace')}"
            reasons[path] = f"unbound: no body is known that {path} understands ({told}); give [agent] {key}"
        elif place:
            update[key] = bodies[place]
    known = _bound(agent, **update)
    bindings = known.bindings if EXPLAIN in reasons else await _with_verdict(known, good, wrong)
    return Found(bindings, reasons)


def _bound(agent: Agent, **update: Any) -> Agent:
    return replace(agent, bindings=agent.bindings.model_copy(update=update))


async def _first_understood(ask: Any, bodies: Sequence[Mapping[str, Any]]) -> tuple[int, Answer | None]:
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


def _unread(bindings: AgentBindings, good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what is to be bound where answers tell messages apart in unknown words, None where nothing does.

    An agent that says the same of every message is judged for that.
    """
    if bindings.validity_words is not None:
        return None
    pair = next(iter(_word_pairs(bindings, good, bad)), None)
    if pair is not None:
        place, right, other = pair
        words = f"{json.dumps(right)} = true, {json.dumps(other)} = false"
        return (
            f"unbound: {place} says {right!r} of a message that holds and {other!r} of others; give [agent] "
            f'validity_at = "{place}" and validity_words = {{ {words} }}'
        )
    scalars = [(place, value) for place, value in answers.leaves(good) if not isinstance(value, dict | list)]
    if bindings.validity_at is None and any(
        all(answers.at(one, place) != value for one in bad[:2]) for place, value in scalars
    ):
        return "unbound: which member says whether a message is valid; give [agent] validity_at, and validity_words"
    return None


def _word_pairs(
    bindings: AgentBindings, good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str, str]]:
    """Yield places with one short word for a message that holds and one other for every message that does not."""
    for place, value in answers.leaves(good):
        if bindings.validity_at not in {None, place} or not _is_word(value):
            continue
        others = {str(answers.at(one, place)) for one in bad[:2]}
        if len(others) == 1 and _is_word(other := others.pop()) and other != value:
            yield place, value, other


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_WORD and value.replace("_", "").isalpha()


async def _with_verdict(agent: Agent, good: Subject, wrong: Sequence[Subject]) -> AgentBindings:
    """Return the bindings with the place of an explanation's verdict, where it is not that of verify's validity."""
    bound = agent.bindings
    answer = await agent.explain(good)
    words = bound.validity_words
    at_validity = None if bound.validity_at is None else answers.validity(answer.object(), bound.validity_at, words)
    if bound.verdict_at is not None or at_validity is not None or answer.status != _OK:
        return bound
    negative = [(await agent.explain(each)).object() for each in wrong]
    return bound.model_copy(update={"verdict_at": _telling(answer.object(), negative, words)})


def _places(bindings: AgentBindings, good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return where validity and errors stand, as far as nobody bound it and answers that differ tell it."""
    places: dict[str, str] = {}
    said = _telling(good, bad, bindings.validity_words) if bindings.validity_at is None else None
    if said is not None:
        places["validity_at"] = said
    if bindings.errors_at is None:
        empty = [place for place, value in answers.leaves(good) if value == []]
        fitting = [place for place in empty if all(_is_filled(answers.at(one, place)) for one in bad[:2])]
        if fitting:
            places["errors_at"] = _usual_first(fitting, answers.ERRORS)
    return places


def _telling(
    good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]], words: answers.Words | None = None
) -> str | None:
    """Return the place that tells a message that holds from those that do not, None where there is none."""
    says = [place for place, value in answers.leaves(good) if answers.truth(value, words) is True]
    # An agent that does not compare the body is judged for that, and not misread.
    for negative in (bad, bad[:2]):
        fitting = [
            place for place in says if all(answers.truth(answers.at(one, place), words) is False for one in negative)
        ]
        if fitting:
            return _usual_first(fitting, answers.VALIDITY)
    return None


def _is_filled(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _usual_first(places: Sequence[str], names: Sequence[str]) -> str:
    """Return the place whose last name is the most usual, of those alike the outermost."""

    def rank(place: str) -> tuple[int, int]:
        name = place.rpartition(".")[2]
        return (names.index(name) if name in names else len(names), place.count("."))

    return min(places, key=rank)


async def agent_of(case: Case) -> Agent:
    """Return the agent of a run, its names bound or found.

    Raises:
        Inconclusive: No body is known that verify understands.
        Unreachable: It gave no answer.
    """
    profile = case.profile
    agent = Agent(
        case, profile.surfaces["agent"].url.rstrip("/"), profile.agent_bindings, profile.target.defaults == "reference"
    )
    if agent.ours:
        return agent
    found: Agent = await case.session.once("the agent's names", lambda: _found(agent))
    return replace(agent, bindings=found.bindings, unbound=found.unbound, lines=found.lines)


async def _found(agent: Agent) -> Agent:
    """Return an agent with its names, and with what it makes of an array of a field's lines."""
    found = agent.as_found(await found_names(agent))
    if VALIDITY in found.unbound:
        return found
    fields = (*FIELDS, ("X-List", "a"), ("X-List", "b"))
    covered = ("@method", "@authority", "@path", "@query", "content-digest", "x-list")
    one = subject(agent.case, read_private(PROBING_SEED), fields=fields, components=covered)
    answer = await found.verify(one)
    if answer.status == _OK and found.validity(answer) is not False:
        return found
    agent.case.note(f"two lines of a field as an array are answered {answer.status}: they are sent joined by a comma")
    return replace(found, lines="misread" if answer.status == _OK else "refused")
