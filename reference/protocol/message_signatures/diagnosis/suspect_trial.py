"""The trial of suspects: a signature that does not hold is verified again with one thing changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from reference.protocol.keys import KeyRejected
from reference.protocol.message_signatures.algorithms import ExpectedKey
from reference.protocol.message_signatures.base import Base, build, text_of
from reference.protocol.message_signatures.message import Message
from reference.protocol.message_signatures.signature_input import SignatureInput

_LONGEST_SHOWN = 80
# Explain is free and its message may have 262,144 bytes. These bounds keep one call from costing seconds of work. A
# trial costs as much as hashing some 500 bytes, in addition to its base.
_MOST_TRIALS = 600
_MOST_OCTETS = 2_000_000
_OCTETS_A_TRIAL = 500


class Suspect(NamedTuple):
    """One mistake that may explain the signature.

    Attributes:
        note: The mistake and its remedy; true if the signature holds this way.
        base: What the signer would have signed.
        signature: The signature as it should have been sent, or None for the one that was.
        key: The key that it would be of, or None for the expected one.
    """

    note: str
    base: str | bytes
    signature: bytes | None = None
    key: ExpectedKey | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A message whose signature does not hold.

    Attributes:
        message: The message.
        signature_input: The signature that does not hold.
        base: Its base.
        key: The key that it was tried with.
    """

    message: Message
    signature_input: SignatureInput
    base: Base
    key: ExpectedKey

    def covers(self, *names: str) -> bool:
        """Return whether one of these components is covered, whatever its parameters."""
        return any(component.name in names for component in self.signature_input.components)

    def with_message(self, **changes: object) -> str:
        """Return the base of the message with some of its parts changed."""
        return build(replace(self.message, **changes), self.signature_input).text  # type: ignore[arg-type]  # names are ours

    def with_values(self, values: Mapping[str, str]) -> str:
        """Return the base with other values for plain components, by their names."""
        components = self.signature_input.components
        changed_values = [
            values[component.name] if component.name in values and not component.parameters else value
            for component, value in zip(components, self.base.values, strict=True)
        ]
        return text_of(components, changed_values, self.signature_input.params_text)

    def with_all(self, values: Sequence[str | None]) -> str:
        """Return the base with these values, one for each covered component."""
        return text_of(self.signature_input.components, values, self.signature_input.params_text)

    def with_params(self, params_text: str) -> str:
        """Return the base with another last line."""
        return text_of(self.signature_input.components, self.base.values, params_text)


Suspicion = Callable[[Case], Iterable[Suspect]]


def find_proven_note(case: Case, suspicions: Iterable[Suspicion]) -> str | None:
    """Return the note of the first suspect with which the signature holds, or None."""
    trials: set[tuple[str | bytes, bytes, ExpectedKey]] = {(case.base.text, case.signature_input.signature, case.key)}
    octets = 0
    for suspect in _list_suspects(case, suspicions):
        octets += len(suspect.base) + _OCTETS_A_TRIAL
        # The verdict does not depend on the diagnosis, so giving up here costs a note and nothing else.
        if octets > _MOST_OCTETS or len(trials) > _MOST_TRIALS:
            return None
        trial = (suspect.base, suspect.signature or case.signature_input.signature, suspect.key or case.key)
        if trial not in trials and _holds(*trial):
            return suspect.note
        trials.add(trial)
    return None


def _list_suspects(case: Case, suspicions: Iterable[Suspicion]) -> Iterator[Suspect]:
    for suspicion in suspicions:
        yield from suspicion(case)


def _holds(base: str | bytes, signature: bytes, key: ExpectedKey) -> bool:
    try:
        return key.verify(base.encode() if isinstance(base, str) else base, signature)
    except (KeyRejected, UnicodeEncodeError):
        return False


def clip(text: str) -> str:
    """Return a text for a sentence: printable, and not long."""
    plain = text if text.isprintable() and text.isascii() else ascii(text)[1:-1]
    return plain if len(plain) <= _LONGEST_SHOWN else plain[: _LONGEST_SHOWN - 1] + "…"
