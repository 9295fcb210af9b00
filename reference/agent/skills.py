"""Skills of the agent: verify, explain and sign, each a request model and a pure function (6.2 to 6.6)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from reference.protocol.message_signatures import (
    MessageRequest,
    MessageVerifyRequest,
    NotSignable,
    SignRequest,
    explain,
    sign,
    verify,
)
from reference.web.errors import Unprocessable
from reference.web.http.json_body import MOST_FAULTS, as_model


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of a call.

    Attributes:
        now: Unix seconds.
        skew: Seconds by which clocks may differ.
    """

    now: int
    skew: int


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill.

    Attributes:
        id: Its name in A2A.
        path: Its path in HTTP.
        name: Its name for people.
        description: What it does, in a sentence.
        tags: Search words.
        model: Its request model.
        execute: From request and moment to the result.
    """

    id: str
    path: str
    name: str
    description: str
    tags: tuple[str, ...]
    model: type[BaseModel]
    execute: Callable[[Any, Moment], dict[str, Any]]

    def call(self, body: Any, moment: Moment) -> dict[str, Any]:
        """Return the result for a request.

        Args:
            body: The request as JSON was read.
            moment: The time of the call.

        Raises:
            Unprocessable: It is malformed (6.2), or cannot be signed.
        """
        # The same model for HTTP and A2A, so that both accept the same requests.
        request = as_model(self.model, body)
        try:
            return self.execute(request, moment)
        # A request that cannot be signed is a fault of its members, so it is reported as one (422).
        except NotSignable as fault:
            raise Unprocessable(fault.detail[:MOST_FAULTS]) from fault


def _verify(request: MessageVerifyRequest, moment: Moment) -> dict[str, Any]:
    return verify(request, now=moment.now, skew=moment.skew)


def _explain(request: MessageRequest, moment: Moment) -> dict[str, Any]:
    return explain(request, now=moment.now, skew=moment.skew)


def _sign(request: SignRequest, moment: Moment) -> dict[str, Any]:
    # A new key for each call, never one of the caller: the agent must not become a signer for others.
    return sign(request, seed=secrets.token_bytes(32), now=moment.now)


_SKILLS = (
    Skill(
        "verify-rfc9421",
        "/verify/rfc9421",
        "Verify a signed HTTP message",
        "Says whether an RFC 9421 signature is the expected signer's over this message, with a code for each fault.",
        ("rfc9421", "http-message-signatures", "verification"),
        MessageVerifyRequest,
        _verify,
    ),
    Skill(
        "explain-rfc9421",
        "/verify/rfc9421/explain",
        "Explain a signed HTTP message",
        "Shows the signature base, the parameters and the body's digest, and says what to change so that it verifies.",
        ("rfc9421", "http-message-signatures", "debugging"),
        MessageRequest,
        _explain,
    ),
    Skill(
        "sign-demo",
        "/verify/rfc9421/sign",
        "Sign a demo request",
        "Signs a request with a throwaway Ed25519 key, so that a verifier can be tried. It never takes a private key.",
        ("rfc9421", "http-message-signatures", "demo"),
        SignRequest,
        _sign,
    ),
)
SKILLS: Mapping[str, Skill] = {skill.id: skill for skill in _SKILLS}
SKILL_PATHS: Mapping[str, Skill] = {skill.path: skill for skill in _SKILLS}
