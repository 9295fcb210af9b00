"""Messages between the runner and the generating process: one JSON object a line.

Schemathesis patches Hypothesis for its whole process, prints, and computes without limit, so it runs in a separate
process. That process never connects to the target and never sees a secret. It names the requests, and the runner sends
them through the recording client.

The runner's first line is the `Order`. Then the generating process writes `Request`, the runner answers `Reply`, the
process writes `Finding`, and so on, until it writes `End`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

# A document may be large, and an answer is repeated in base64.
LONGEST_LINE = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Order:
    """The order to generate requests.

    Attributes:
        document: The OpenAPI document, parsed.
        seed: Seed of all draws.
        seconds: Seconds from the first request to the end.
        examples: Requests of one kind for an operation in one round.
        rounds: Number of rounds; 0 for as many as fit into the seconds.
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
        needs_credential: Whether the document demands a credential for the operation.
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
    """The answer to a request; the status is 0 if there was none. The body is base64."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """How the answer to the last request breaks the document, or None."""

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
# The member `is` of a line names its class. A line with another name is no message, so nothing else can be built from
# what the other process writes.
_KINDS: dict[str, type[Message]] = {kind.__name__: kind for kind in (Order, Request, Reply, Finding, Skipped, End)}


def line_of(message: Message) -> bytes:
    """Return a message as one line of ASCII with its line feed."""
    # A target may send half of a surrogate pair, which UTF-8 cannot encode. JSON escapes are ASCII.
    return json.dumps({"is": type(message).__name__, **asdict(message)}, default=str).encode("ascii") + b"\n"


def message_of(line: bytes) -> Message:
    """Return the message of a line.

    Raises:
        ValueError: The line is not a message.
    """
    # Lines come from a child process that computes on a target's document, so their members are checked like foreign
    # data.
    members = json.loads(line)
    try:
        return _KINDS[members.pop("is")](**members)
    except (KeyError, TypeError, AttributeError) as fault:
        raise ValueError(f"no message: {line[:200]!r}") from fault
