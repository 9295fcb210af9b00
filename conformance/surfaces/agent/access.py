"""The agent under test as a check calls it: bodies by its templates, answers read at its places.

What nobody binds on a target that is not ours is found by asking once a run: the templates that are known are tried
with a message that holds and one that does not, until an answer says of each what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.oracles.message_signatures.members import key_of, message_of
from conformance.oracles.message_signatures.message import Message
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import answers
from conformance.surfaces.agent.found import VALIDITY, Found
from conformance.surfaces.agent.paths import EXPLAIN, SIGN, VERIFY
from conformance.surfaces.agent.subjects import Subject
from conformance.surfaces.agent.templates import filled, lost_in, unsigned, values_of
from conformance.target import AgentBindings
from conformance.vectors import MessageVector

_OK = 200


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent and what is known of it.

    Attributes:
        case: The check that asks.
        url: Its address, without a slash at its end.
        bindings: Its names, bound or found.
        ours: Whether the reference's bindings apply.
        unbound: Why something of it cannot be judged (see `Found`).
        lines: What it makes of an array of a field's lines: it is `kept` as it is, `refused`, or `misread`, so that the
            message is not valid. Only where it is kept are lines sent so; else they are joined by commas.
    """

    case: Case
    url: str
    bindings: AgentBindings
    ours: bool
    unbound: Mapping[str, str] = field(default_factory=dict)
    lines: Literal["kept", "refused", "misread"] = "kept"

    def as_found(self, found: Found) -> Agent:
        """Return the same agent with what asking told of it."""
        return replace(self, bindings=found.bindings, unbound=found.unbound)

    def at(self, url: str) -> Agent:
        """Return the same agent at another address."""
        return replace(self, url=url.rstrip("/"))

    async def call(self, method: str, path: str, **what: Any) -> Answer:
        """Send one request; see `Client.call`."""
        return await self.case.client.call(method, self.url + path, **what)

    async def verify(self, one: Subject, **further: Any) -> Answer:
        """Ask whether a message is valid; `further` are members beside the usual ones."""
        return await self.call("POST", VERIFY, json_body={**self.verify_body(one), **further})

    async def explain(self, one: Subject, **further: Any) -> Answer:
        """Ask for an explanation.

        Raises:
            Inconclusive: No body is known that it understands.
        """
        self._known(EXPLAIN)
        return await self.call("POST", EXPLAIN, json_body={**self.explain_body(one), **further})

    async def sign(self, message: Message, **further: Any) -> Answer:
        """Ask for a demo signature.

        Raises:
            Inconclusive: No body is known that it understands.
        """
        self._known(SIGN)
        return await self.call("POST", SIGN, json_body={**self.sign_body(message), **further})

    def _known(self, what: str) -> None:
        if what in self.unbound:
            raise Inconclusive(self.unbound[what])

    def verify_body(self, one: Subject) -> dict[str, Any]:
        """Return the body that asks about a message."""
        return self._filled(self.bindings.verify_body or {}, one)

    def explain_body(self, one: Subject) -> dict[str, Any]:
        """Return the body that asks for an explanation of a message."""
        return self._filled(self.bindings.explain_body or self.bindings.verify_body or {}, one)

    def _filled(self, template: Mapping[str, Any], one: Subject) -> dict[str, Any]:
        """Return a body; field lines of one name go as an array, to an agent that keeps one.

        Raises:
            Inconclusive: The template cannot carry the message, so that the agent would judge another one.
        """
        if (lost := lost_in(template, one.message)) is not None:
            raise Inconclusive(f"unbound: [agent] verify_body cannot carry {lost}")
        message = one.message if self.lines == "kept" else _joined(one.message)
        return _object(filled(template, values_of(message, one.key, one.form)))

    def lost(self, message: Message) -> str | None:
        """Return what of a message the bodies of verify and explain cannot carry, None where both carry all of it."""
        templates = (self.bindings.verify_body, self.bindings.explain_body)
        return next((lost for one in templates if (lost := lost_in(one or {}, message)) is not None), None)

    def sign_body(self, message: Message) -> dict[str, Any]:
        """Return the body that asks for a message to be signed."""
        template = self.bindings.sign_body
        if template is None:
            template = unsigned(self.bindings.verify_body or {})
        return _object(filled(template, values_of(message, None, "none")))

    async def vector(self, path: str, one: MessageVector) -> Answer:
        """Send a vector to verify or explain: as it stands where the target has the family's names.

        Raises:
            Inconclusive: No body is known that the operation understands.
        """
        self._known(path)
        return await self.call("POST", path, json_body=self.vector_body(path, one))

    def vector_body(self, path: str, one: MessageVector) -> dict[str, Any]:
        """Return the body of a vector, its policy with it, which is extra members to whoever does not know them."""
        if self.ours:
            return one.request
        given = Subject(message_in(one), key_in(one), "did" if "did_key" in one.key else "hex")
        body = self.verify_body(given) if path == VERIFY else self.explain_body(given)
        return {**body, **one.policy}

    def validity(self, answer: Answer) -> bool | None:
        """Return what an answer says of validity.

        Raises:
            Inconclusive: It says it in a word, or at a place, that is not known.
        """
        return self._said(answer, self.bindings.validity_at)

    def verdict(self, answer: Answer) -> bool | None:
        """Return what an explanation says of validity: at its own place, else where verify says it or wherever.

        Raises:
            Inconclusive: It says it in a word, or at a place, that is not known.
        """
        if self.bindings.verdict_at is not None:
            return self._said(answer, self.bindings.verdict_at)
        words = self.bindings.validity_words
        found = answers.validity(answer.object(), self.bindings.validity_at, words)
        return self._said(answer, None) if found is None and not self.ours else found

    def _said(self, answer: Answer, place: str | None) -> bool | None:
        words, document = self.bindings.validity_words, answer.object()
        found = answers.validity(document, place, words)
        if found is not None or self.ours or words is not None or answer.status != _OK:
            return found
        self._known(VALIDITY)
        unknown = answers.unknown_word(document, place)
        if unknown is not None:
            where, word = unknown
            raise Inconclusive(f"unbound: {where} says {word[:80]!r}; give [agent] validity_words what each word means")
        return None

    def errors(self, answer: Answer) -> list[Any] | None:
        """Return the errors that an answer lists."""
        return answers.errors(answer.object(), self.bindings.errors_at)

    def codes(self, answer: Answer) -> frozenset[str] | None:
        """Return the codes that an answer lists, in the target's own words, None where these are not bound.

        Raises:
            Inconclusive: There is none at the bound place, and no list that could hold one.
        """
        place, document = self.bindings.codes_at, answer.object()
        if self.bindings.error_codes is None or place is None:
            return None
        listed = answers.placed(document, place)
        if not (listed or answers.is_empty(document, place)):
            raise Inconclusive(f"[agent] codes_at is {place}, where an answer has no code: give that of a code")
        return frozenset(map(str, listed))

    def own_code(self, code: str) -> str:
        """Return the target's code for one of the profile's."""
        return (self.bindings.error_codes or {}).get(code, code)

    def base(self, answer: Answer) -> str | None:
        """Return the signature base that an answer shows."""
        return answers.base(answer.object(), self.bindings.signing_base_at)

    def notes(self, answer: Answer) -> list[str] | None:
        """Return the notes of an explanation."""
        return answers.notes(answer.object(), self.bindings.notes_at)


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
