"""Vectors as data: JSON files, one schema a family, and their reader.

Every signature was created at the beginning of 2025 or earlier, so an implementation that limits age by itself
refuses them all: sign afresh to find out before judging anybody.

`format` names a family and the version of its form. A vector's id never changes its meaning; a vector that is changed
gets a new id, and the set a new version.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Expected:
    """What is to be said of a vector.

    Attributes:
        valid: The verdict.
        step: Step of refusal, one of profile 6.3's groups; None for a message that holds.
        codes: Codes of profile 6.3, in any order; more than one only in the RFC's own examples.
        signature_base: The base as text, the same for every verifier; None where none can be made, or not the whole.
    """

    valid: bool
    step: str | None
    codes: tuple[str, ...]
    signature_base: str | None


@dataclass(frozen=True, slots=True)
class MessageVector:
    """One signed message with what is to be said of it.

    Attributes:
        id: Stable name: family, step, fault, variant.
        kind: Step and fault; at most three vectors share it.
        requirements: Rows of the ledger that it belongs to.
        message: Members of profile 6.2; `related_request` and `trailers` only where `doors` leaves out the agent.
        key: `public_key_hex` or `did_key`; of other algorithms `public_key_pem` or `secret_b64`; and `algorithm`.
        policy: Policy members of profile 6.2.
        expected: What is to be said.
        pinned: Members of `expected` that only the profile decides; `valid` among them means that an implementation
            which answers otherwise, or takes the request for malformed, breaks no standard.
        pins: The clauses that `valid` rests on beyond the standards, if any.
        doors: `agent`: it can be sent to verify and explain as it stands; `offline`: to a verifier that takes more.
        fault: The one fault in a sentence; None for a message that holds.
        origin: Who made it.
        why: Why it exists.
    """

    id: str
    kind: str
    requirements: tuple[str, ...]
    message: Mapping[str, Any]
    key: Mapping[str, str]
    policy: Mapping[str, Any]
    expected: Expected
    pinned: tuple[str, ...]
    pins: tuple[str, ...]
    doors: tuple[str, ...]
    fault: str | None
    origin: str
    why: str

    @property
    def request(self) -> dict[str, Any]:
        """The body for an agent's verify or explain: message, expected key and policy together."""
        key = {name: value for name, value in self.key.items() if name != "algorithm"}
        return {**self.message, **key, **self.policy}

    @property
    def decided_by_standard(self) -> bool:
        """Whether the verdict follows from RFC 9421 and RFC 9530, without the profile."""
        return "valid" not in self.pinned


@cache
def message_signatures() -> tuple[MessageVector, ...]:
    """Return the vectors of RFC 9421 and RFC 9530, in the order of their files and places."""
    folder = files(__name__) / "message_signatures"
    documents = (
        json.loads(entry.read_text("utf-8"))
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".json")
    )
    return tuple(_vector(one) for document in documents for one in document["vectors"])


def _vector(one: Mapping[str, Any]) -> MessageVector:
    expected = Expected(**{**one["expected"], "codes": tuple(one["expected"]["codes"])})
    listed = {name: tuple(one[name]) for name in ("requirements", "pinned", "pins", "doors")}
    return MessageVector(**{**one, **listed, "expected": expected})
