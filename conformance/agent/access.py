"""The agent under test as a check calls it: bodies by its templates, answers read at its places.

What nobody binds on a target that is not ours is found by asking once a run: the templates that are known are tried
with a message that holds and one that does not, until an answer says of each what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.agent import answers
from conformance.agent.paths import EXPLAIN, SIGN, VERIFY
from conformance.agent.subjects import Subject, subject
from conformance.agent.templates import CANDIDATES, filled, values_of
from conformance.check import Case, Inconclusive
from conformance.client import Answer
from conformance.oracles.message_signatures.keys import read_private
from conformance.oracles.message_signatures.members import key_of, message_of
from conformance.oracles.message_signatures.message import Message
from conformance.target import AgentBindings
from conformance.vectors import MessageVector

_THROTTLED = 429
# For asking before the first check: the same in every run, whichever check is first.
_PROBING_SEED = bytes(range(32))
_OK = 200
_WITHOUT_SIGNATURE = frozenset({"public_key_hex", "did_key", "public_key", "expected_key", "status"})


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent and what is known of it.

    Attributes:
        case: The check that asks.
        url: Its address, without a slash at its end.
        bindings: Its names, bound or found.
        ours: Whether the reference's bindings apply.
    """

    case: Case
    url: str
    bindings: AgentBindings
    ours: bool

    def at(self, url: str) -> Agent:
        """Return the same agent at another address."""
        return replace(self, url=url.rstrip("/"))

    async def call(self, method: str, path: str, **what: Any) -> Answer:
        """Send one request; see `Client.call`.

        Raises:
            Inconclusive: The target says for the fourth time that this is too fast for it.
        """
        return unlimited(await self.case.client.call(method, self.url + path, **what))

    async def verify(self, one: Subject, **further: Any) -> Answer:
        """Ask whether a message is valid; `further` are members beside the usual ones."""
        return await self.call("POST", VERIFY, json_body={**self.verify_body(one), **further})

    async def explain(self, one: Subject, **further: Any) -> Answer:
        """Ask for an explanation."""
        return await self.call("POST", EXPLAIN, json_body={**self.explain_body(one), **further})

    async def sign(self, message: Message, **further: Any) -> Answer:
        """Ask for a demo signature."""
        return await self.call("POST", SIGN, json_body={**self.sign_body(message), **further})

    def verify_body(self, one: Subject) -> dict[str, Any]:
        """Return the body that asks about a message."""
        return self._filled(self.bindings.verify_body or {}, one)

    def explain_body(self, one: Subject) -> dict[str, Any]:
        """Return the body that asks for an explanation of a message."""
        return self._filled(self.bindings.explain_body or self.bindings.verify_body or {}, one)

    def _filled(self, template: Mapping[str, Any], one: Subject) -> dict[str, Any]:
        """Return a body; field lines of one name go as an array to the reference, joined to anybody else."""
        message = one.message if self.ours else _joined(one.message)
        return _object(filled(template, values_of(message, one.key, one.form)))

    def sign_body(self, message: Message) -> dict[str, Any]:
        """Return the body that asks for a message to be signed."""
        template = self.bindings.sign_body
        if template is None:
            usual = self.bindings.verify_body or {}
            template = {name: value for name, value in usual.items() if name not in _WITHOUT_SIGNATURE}
        return _object(filled(template, values_of(message, None, "none")))

    async def vector(self, path: str, one: MessageVector) -> Answer:
        """Send a vector to verify or explain: as it stands where the target has the family's names."""
        return await self.call("POST", path, json_body=self.vector_body(path, one))

    def vector_body(self, path: str, one: MessageVector) -> dict[str, Any]:
        """Return the body of a vector, its policy with it, which is extra members to whoever does not know them."""
        if self.ours:
            return one.request
        given = Subject(message_in(one), key_in(one), "did" if "did_key" in one.key else "hex")
        body = self.verify_body(given) if path == VERIFY else self.explain_body(given)
        return {**body, **one.policy}

    def validity(self, answer: Answer) -> bool | None:
        """Return what an answer says of validity."""
        return answers.validity(answer.object(), self.bindings.validity_at)

    def verdict(self, answer: Answer) -> bool | None:
        """Return what an explanation says of validity: at its own place, else where verify says it or wherever."""
        if self.bindings.verdict_at is not None:
            return answers.validity(answer.object(), self.bindings.verdict_at)
        found = answers.validity(answer.object(), self.bindings.validity_at)
        return answers.validity(answer.object(), None) if found is None and not self.ours else found

    def errors(self, answer: Answer) -> list[Any] | None:
        """Return the errors that an answer lists."""
        return answers.errors(answer.object(), self.bindings.errors_at)

    def codes(self, answer: Answer) -> frozenset[str] | None:
        """Return the profile's codes that an answer lists, None where the target's are not bound."""
        names, place = self.bindings.error_codes, self.bindings.codes_at
        if names is None or place is None:
            return None
        back = {theirs: code for code, theirs in names.items()}
        listed = answers.at(answer.object(), place)
        return frozenset(back.get(str(one), str(one)) for one in listed) if isinstance(listed, list) else frozenset()

    def base(self, answer: Answer) -> str | None:
        """Return the signature base that an answer shows."""
        return answers.base(answer.object(), self.bindings.signing_base_at)

    def notes(self, answer: Answer) -> list[str] | None:
        """Return the notes of an explanation."""
        return answers.notes(answer.object(), self.bindings.notes_at)


def unlimited(answer: Answer) -> Answer:
    """Return an answer that is no 429, which says nothing of what was asked.

    Raises:
        Inconclusive: It is one.
    """
    if answer.status == _THROTTLED:
        raise Inconclusive("the agent answers 429: give its rate as [pace] requests_per_second")
    return answer


def _joined(message: Message) -> Message:
    names = dict.fromkeys(name.lower() for name, _ in message.headers)
    spelled = {name.lower(): name for name, _ in reversed(message.headers)}
    return replace(message, headers=tuple((spelled[name], message.field(name) or "") for name in names))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def message_in(one: MessageVector) -> Message:
    """Return the message of a vector."""
    return message_of(one.message)


def key_in(one: MessageVector) -> bytes | None:
    """Return the expected key of a vector, None where it has none of Ed25519."""
    found = key_of(one.key)
    return found.material if found is not None and isinstance(found.material, bytes) else None


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
    found: AgentBindings = await case.session.once("the agent's names", lambda: found_names(agent))
    return replace(agent, bindings=found)


async def found_names(agent: Agent) -> AgentBindings:
    """Return an agent's bindings with what asking could find out.

    Each known body asks about a message that holds and about three that do not. The body is understood where some place
    of the answers says so; what it is called matters only among places that do.

    Raises:
        Inconclusive: See `agent_of`.
    """
    bound = agent.bindings
    good = subject(agent.case, read_private(_PROBING_SEED))
    wrong = (
        good.expecting(bytes(reversed(good.key or b""))),
        good.changed(target="/elsewhere"),
        good.changed(body=b"another body"),
    )
    understood: list[AgentBindings] = []
    for template in (bound.verify_body,) if bound.verify_body is not None else CANDIDATES:
        one = replace(agent, bindings=bound.model_copy(update={"verify_body": template}))
        answer = await one.verify(good)
        if answer.status != _OK:
            continue
        negative = [(await one.verify(each)).object() for each in wrong]
        places = _places(one.bindings, answer.object(), negative)
        found = one.bindings.model_copy(update=places)
        if answers.validity(answer.object(), found.validity_at):
            return await _with_verdict(replace(agent, bindings=found), good, wrong)
        understood.append(found)
    if not understood:
        raise Inconclusive("unbound: no body is known that verify understands; give [agent] verify_body")
    return understood[0]


async def _with_verdict(agent: Agent, good: Subject, wrong: Sequence[Subject]) -> AgentBindings:
    """Return the bindings with the place of an explanation's verdict, where it is not that of verify's validity."""
    bound = agent.bindings
    answer = await agent.explain(good)
    at_validity = None if bound.validity_at is None else answers.validity(answer.object(), bound.validity_at)
    if bound.verdict_at is not None or at_validity is not None or answer.status != _OK:
        return bound
    negative = [(await agent.explain(each)).object() for each in wrong]
    return bound.model_copy(update={"verdict_at": _telling(answer.object(), negative)})


def _places(bindings: AgentBindings, good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return where validity and errors stand, as far as nobody bound it and answers that differ tell it."""
    places: dict[str, str] = {}
    said = _telling(good, bad) if bindings.validity_at is None else None
    if said is not None:
        places["validity_at"] = said
    if bindings.errors_at is None:
        empty = [place for place, value in answers.leaves(good) if value == []]
        fitting = [place for place in empty if all(_is_filled(answers.at(one, place)) for one in bad[:2])]
        if fitting:
            places["errors_at"] = _usual_first(fitting, answers.ERRORS)
    return places


def _telling(good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the place that tells a message that holds from those that do not, None where there is none."""
    says = [place for place, value in answers.leaves(good) if answers.truth(value) is True]
    # An agent that does not compare the body is judged for that, and not misread.
    for negative in (bad, bad[:2]):
        fitting = [place for place in says if all(answers.truth(answers.at(one, place)) is False for one in negative)]
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
