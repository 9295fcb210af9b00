"""Notes on covered components that have no value, or should have been covered (RFC 9421 sections 2 and 2.5)."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice

from reference.protocol.message_signatures.base import Base
from reference.protocol.message_signatures.components import DERIVED_COMPONENTS
from reference.protocol.message_signatures.diagnosis.suspect_trial import clip
from reference.protocol.message_signatures.message import Message
from reference.protocol.message_signatures.signature_input import SignatureInput

_MOST_NAMES = 200
_LONGEST_NAME = 64
_MOST_LOOKED_AT = 5
_MISTAKEN_NAMES = {
    "(request-target)": "older drafts' name for @method and @path",
    "(created)": "older drafts' name for parameter created",
    "(expires)": "older drafts' name for parameter expires",
    "@url": "no component; the whole address is @target-uri",
    "@uri": "no component; the whole address is @target-uri",
    "@host": "no component; the host is @authority",
    "@request-response": "an older draft's component; a response covers its request by parameter req",
    "@query-params": "an older draft's component; one query parameter is @query-param with parameter name",
    "@signature-params": "the last line of every base; it is never listed",
}


def coverage_notes(message: Message, signature_input: SignatureInput, base: Base) -> Iterator[str]:
    """Yield what can be said about components that have no value; of many, about the first few."""
    pairs = zip(signature_input.components, base.values, strict=True)
    without = (component for component, value in pairs if value is None and len(component.name) <= _LONGEST_NAME)
    for component in islice(without, _MOST_LOOKED_AT):
        note = _note(message, component.name)
        if note is not None:
            yield f"{clip(component.identifier)}: {note}"


def _note(message: Message, name: str) -> str | None:
    if name in _MISTAKEN_NAMES:
        return f"{name} is {_MISTAKEN_NAMES[name]}."
    if name != name.lower():
        return "names of components are in lower case."
    if name.startswith("@"):
        near = get_close_matches(name, DERIVED_COMPONENTS, n=1)
        return f"did you mean {near[0]}?" if near and near[0] != name else None
    if message.fields.combine(name) is not None:
        return None
    names = [one for one in message.fields.names()[:_MOST_NAMES] if len(one) <= _LONGEST_NAME]
    # The cost of comparing grows with the product of both lengths, so long names and long lists are cut.
    near = get_close_matches(name, names, n=1, cutoff=0.75)
    if near:
        return f"the message has no such field, but it has {clip(near[0])}."
    if message.trailers is not None and message.trailers.combine(name) is not None:
        return "it is among the trailers; cover it with parameter tr."
    if f"@{name}" in DERIVED_COMPONENTS:
        return f"the message has no such field; did you mean @{name}?"
    return None
