"""Access to the agent under test: bodies by its templates, answers read at its places.

Unbound names of a target other than the reference are discovered once a run. The known templates are tried with a valid
message and an invalid one, until the answers distinguish them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.oracles.message_signatures.message import Message
from conformance.oracles.message_signatures.verify_request_members import key_of, message_of
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import answer_reader
from conformance.surfaces.agent.discovered_names import VALIDITY, AgentDiscovery
from conformance.surfaces.agent.paths import EXPLAIN, SIGN, VERIFY
from conformance.surfaces.agent.subjects import Subject
from conformance.surfaces.agent.templates import fill_template, find_lost_part, values_of, without_key
from conformance.target import AgentBindings
from conformance.target.agent import REFERENCE_AGENT
from conformance.vectors import MessageVector

_OK = 200
# The names of bodies and answers that a profile may bind.
_SPECIFIED_NAMES = (
    *("verify_body", "explain_body", "sign_body", "validity_at", "validity_words", "verdict_at", "errors_at"),
    *("codes_at", "error_codes", "signing_base_at", "digest_at", "notes_at", "demo_key_at", "signed_fields"),
)


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent with its known names.

    Attributes:
        case: The case of the check that calls it.
        url: Its address, without a slash at its end.
        bindings: Its names, bound or discovered.
        is_reference: Whether the reference's bindings apply.
        unbound: Why a part of it cannot be judged (see `AgentDiscovery`).
        lines: Its treatment of an array of a field's lines: `kept`, `refused`, or `misread` so that the message is not
            valid. Lines are sent as an array only if it is kept; else they are joined by commas.
    """

    case: Case
    url: str
    bindings: AgentBindings
    is_reference: bool
    unbound: Mapping[str, str] = field(default_factory=dict)
    lines: Literal["kept", "refused", "misread"] = "kept"

    def with_discovery(self, discovery: AgentDiscovery) -> Agent:
        """Return the same agent with the discovered names."""
        return replace(self, bindings=discovery.bindings, unbound=discovery.unbound)

    def at(self, url: str) -> Agent:
        """Return the same agent at another address."""
        # Paths begin with a slash, so the address must not end with one.
        return replace(self, url=url.rstrip("/"))

    @property
    def has_specified_names(self) -> bool:
        """Whether the target claims the specification and binds no other names than those of 6.2, 6.3 and 6.5."""
        return self.is_reference and all(
            getattr(self.bindings, name) == getattr(REFERENCE_AGENT, name) for name in _SPECIFIED_NAMES
        )

    async def call(self, method: str, path: str, **options: Any) -> Answer:
        """Send one request; see `Client.call`."""
        return await self.case.client.call(method, self.url + path, **options)

    async def verify(self, subject: Subject, **further: Any) -> Answer:
        """Ask whether a message is valid; `further` are additional members."""
        return await self.call("POST", VERIFY, json_body={**self.verify_body(subject), **further})

    async def explain(self, subject: Subject, **further: Any) -> Answer:
        """Ask for an explanation.

        Raises:
            Inconclusive: No body is known that it understands.
        """
        self._require_bound(EXPLAIN)
        return await self.call("POST", EXPLAIN, json_body={**self.explain_body(subject), **further})

    async def sign(self, message: Message, **further: Any) -> Answer:
        """Ask for a demo signature.

        Raises:
            Inconclusive: No body is known that it understands.
        """
        self._require_bound(SIGN)
        return await self.call("POST", SIGN, json_body={**self.sign_body(message), **further})

    def _require_bound(self, capability: str) -> None:
        if capability in self.unbound:
            raise Inconclusive(self.unbound[capability])

    def verify_body(self, subject: Subject) -> dict[str, Any]:
        """Return the body that asks about a message."""
        return self._fill(self.bindings.verify_body or {}, subject)

    def explain_body(self, subject: Subject) -> dict[str, Any]:
        """Return the body that asks for an explanation of a message."""
        return self._fill(self.bindings.explain_body or self.bindings.verify_body or {}, subject)

    def _fill(self, template: Mapping[str, Any], subject: Subject) -> dict[str, Any]:
        """Return a body; several lines of a field are an array if the agent keeps arrays.

        Raises:
            Inconclusive: The template cannot carry the message, so that the agent would judge another one.
        """
        if (lost_part := find_lost_part(template, subject.message)) is not None:
            raise Inconclusive(f"unbound: [agent] verify_body cannot carry {lost_part}")
        message = subject.message if self.lines == "kept" else _join_lines(subject.message)
        return _object(fill_template(template, values_of(message, subject.key, subject.form)))

    def lost_part(self, message: Message) -> str | None:
        """Return the part of a message that the bodies of verify or explain cannot carry, or None."""
        templates = (self.bindings.verify_body, self.bindings.explain_body)
        return next(
            (lost_part for one in templates if (lost_part := find_lost_part(one or {}, message)) is not None), None
        )

    def sign_body(self, message: Message) -> dict[str, Any]:
        """Return the body that asks for a message to be signed."""
        template = self.bindings.sign_body
        if template is None:
            # An unbound sign body has the shape of verify's body, without the key.
            template = without_key(self.bindings.verify_body or {})
        return _object(fill_template(template, values_of(message, None, "none")))

    async def send_vector(self, path: str, vector: MessageVector) -> Answer:
        """Send a vector to verify or explain, unchanged if the target has the family's names.

        Raises:
            Inconclusive: No body is known that the operation understands.
        """
        self._require_bound(path)
        return await self.call("POST", path, json_body=self.vector_body(path, vector))

    def vector_body(self, path: str, vector: MessageVector) -> dict[str, Any]:
        """Return the body of a vector with its policy, whose members an agent may ignore."""
        if self.is_reference:
            return vector.request
        subject = Subject(message_in(vector), key_in(vector), "did" if "did_key" in vector.key else "hex")
        body = self.verify_body(subject) if path == VERIFY else self.explain_body(subject)
        # The policy's members are extensions of the interface. An agent that does not know them
        # ignores them.
        return {**body, **vector.policy}

    def validity(self, answer: Answer) -> bool | None:
        """Return the validity in an answer.

        Raises:
            Inconclusive: The validity is an unknown word or at an unknown place.
        """
        return self._read_validity(answer, self.bindings.validity_at)

    def verdict(self, answer: Answer) -> bool | None:
        """Return the validity in an explanation: at its bound place, else at verify's place, else anywhere.

        Raises:
            Inconclusive: The validity is an unknown word or at an unknown place.
        """
        if self.bindings.verdict_at is not None:
            return self._read_validity(answer, self.bindings.verdict_at)
        words = self.bindings.validity_words
        validity = answer_reader.validity(answer.read_object(), self.bindings.validity_at, words)
        return self._read_validity(answer, None) if validity is None and not self.is_reference else validity

    def _read_validity(self, answer: Answer, place: str | None) -> bool | None:
        words, document = self.bindings.validity_words, answer.read_object()
        validity = answer_reader.validity(document, place, words)
        if validity is not None or self.is_reference or words is not None or answer.status != _OK:
            return validity
        self._require_bound(VALIDITY)
        unknown = answer_reader.unknown_word(document, place)
        # The answer speaks of validity in a word of the target. Guessing its meaning could fail a
        # correct agent.
        if unknown is not None:
            where, word = unknown
            raise Inconclusive(f"unbound: {where} says {word[:80]!r}; give [agent] validity_words what each word means")
        return None

    def errors(self, answer: Answer) -> list[Any] | None:
        """Return the errors that an answer lists."""
        return answer_reader.errors(answer.read_object(), self.bindings.errors_at)

    def codes(self, answer: Answer) -> frozenset[str] | None:
        """Return the codes that an answer lists, in the target's own words; None if these are not bound.

        Raises:
            Inconclusive: The bound place has no code, and no list that could contain one.
        """
        place, document = self.bindings.codes_at, answer.read_object()
        if self.bindings.error_codes is None or place is None:
            return None
        codes = answer_reader.values_at(document, place)
        if not (codes or answer_reader.is_empty(document, place)):
            raise Inconclusive(f"[agent] codes_at is {place}, where an answer has no code: give that of a code")
        return frozenset(map(str, codes))

    def own_code(self, code: str) -> str:
        """Return the target's code for one of the profile's."""
        return (self.bindings.error_codes or {}).get(code, code)

    def base(self, answer: Answer) -> str | None:
        """Return the signature base that an answer shows."""
        return answer_reader.base(answer.read_object(), self.bindings.signing_base_at)

    def notes(self, answer: Answer) -> list[str] | None:
        """Return the notes of an explanation."""
        return answer_reader.notes(answer.read_object(), self.bindings.notes_at)


def _join_lines(message: Message) -> Message:
    # RFC 9110, 5.3: lines of one field may be joined by commas without a change of meaning.
    names = dict.fromkeys(name.lower() for name, _ in message.headers)
    spellings = {name.lower(): name for name, _ in reversed(message.headers)}
    return replace(message, headers=tuple((spellings[name], message.field(name) or "") for name in names))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def message_in(vector: MessageVector) -> Message:
    """Return the message of a vector."""
    return message_of(vector.message)


def key_in(vector: MessageVector) -> bytes | None:
    """Return the expected key of a vector; None if it has no Ed25519 key."""
    key = key_of(vector.key)
    return key.material if key is not None and isinstance(key.material, bytes) else None
