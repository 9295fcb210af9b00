"""What the runner and the generating process say to each other: one JSON object a line.

Schemathesis patches Hypothesis for its whole process, prints, and computes for as long as it likes, so it gets a
process of its own. That process never talks to the target and never sees a secret: it says what to send, and the runner
sends it through the recording client.

The runner's first line is the `Order`. Then the generating process writes `Request`, the runner answers `Reply`, the
process writes `Finding`, and so on, until it writes `End`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

LONGEST_LINE = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Order:
    """What to generate.

    Attributes:
        document: The OpenAPI document, parsed.
        seed: Seed of everything that is drawn.
        seconds: When to stop, from the first request on.
        examples: Requests of one kind an operation gets in one round.
        rounds: Rounds, 0 for as many as fit into the seconds.
    """

    document: dict[str, Any]
    seed: int
    seconds: float
    examples: int
    rounds: int


@dataclass(frozen=True, slots=True)
class Request:
    """One request to send.

    Attributes:
        operation: Method and path template, such as `POST /v1/payment-links`.
        kind: `positive`, `negative` or `stateful`.
        method: HTTP method.
        target: Path and query, percent-encoded.
        headers: Header fields without credentials.
        body: Base64 of the body, or None.
        secured: Whether the operation demands a credential by its document.
    """

    operation: str
    kind: str
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: str | None
    needs_credential: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request: a status of 0 says that none came. The body is base64."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with the answer to the last request by the document, or None."""

    fault: str | None


@dataclass(frozen=True, slots=True)
class Skipped:
    """An operation for which nothing of a kind can be generated, and why."""

    operation: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class End:
    """The last line.

    Attributes:
        rounds: Rounds that were finished.
        fault: Why the document cannot be used, or None.
    """

    rounds: int
    fault: str | None = None


Message: TypeAlias = Order | Request | Reply | Finding | Skipped | End
_KINDS: dict[str, type[Message]] = {kind.__name__: kind for kind in (Order, Request, Reply, Finding, Skipped, End)}


def line_of(message: Message) -> bytes:
    """Return a message as one line with its line feed; ASCII, since a target may send halves of surrogate pairs."""
    return json.dumps({"is": type(message).__name__, **asdict(message)}, default=str).encode("ascii") + b"\n"


def message_of(line: bytes) -> Message:
    """Return the message of a line.

    Raises:
        ValueError: The line holds no message.
    """
    members = json.loads(line)
    try:
        return _KINDS[members.pop("is")](**members)
    except (KeyError, TypeError, AttributeError) as fault:
        raise ValueError(f"no message: {line[:200]!r}") from fault
