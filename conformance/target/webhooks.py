"""What an operator tells about webhooks: destinations, a receiver, and what the interface leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from conformance.target.placeholder_validation import placeholders
from conformance.target.tables import Secret, Table
from conformance.vocabulary.receiver_defaults import TOLERANCE_SECONDS


class Destination(Table):
    """A webhook destination that is configured at the target; the suite receives there during a run.

    Attributes:
        url: Its URL as the target has it; two destinations of one host differ in their paths.
        secret: The secret that the target showed when it was configured.
        tenant: Name of the tenant whose events it gets.
        events: Event types it was configured for.
        listen: `HOST:PORT` that the suite binds, when it is not the one of `url` (a tunnel, a proxy with TLS).
    """

    url: str
    secret: Secret
    tenant: str = "first"
    events: tuple[str, ...] = ("payment.confirmed",)
    listen: str | None = None


class Receiver(Table):
    """A webhook receiver under test, to which the suite sends.

    Attributes:
        url: Where it receives.
        secret: The secret that it verifies with.
        effects: URL that returns how often an event had its effect; `{id}` is the event id and the answer is a
            decimal number. None: the suite judges by the receiver's answers only, where those decide.
    """

    url: str
    secret: Secret
    effects: Annotated[str | None, placeholders("id")] = None


class WebhookBindings(Table):
    """What the interface leaves open about webhooks. None means: the row that needs it is `unbound`.

    Attributes:
        header: Name of the signature header; unset, `X-<service word>-Signature`.
        signed_string: What v1 covers; `{t}` is the decimal time, `{body}` the raw body.
        key: How a secret is the MAC's key: its whole `text`, or the part after its prefix, decoded as `base64` or
            `hex`.
        tolerance: Seconds that `t` may differ from the time of delivery, and that a receiver accepts.
        schedule: Seconds from the end of each failed attempt to the next one.
        timeout: Seconds after which an attempt without an answer has failed.
        destinations: Destinations by name.
        receiver: A receiver to test with roles reversed; unset, the suite tests its own listener.
    """

    header: str | None = None
    signed_string: Annotated[str | None, placeholders("t", "body")] = None
    key: Literal["text", "base64", "hex"] | None = None
    tolerance: int = TOLERANCE_SECONDS
    schedule: tuple[float, ...] | None = None
    timeout: float | None = None
    destinations: Mapping[str, Destination] = Field(default_factory=dict)
    receiver: Receiver | None = None


REFERENCE_WEBHOOK = WebhookBindings(
    signed_string="{t}.{body}", key="text", schedule=(30, 120, 600, 3600, 21600), timeout=5
)
