"""RFC 9421 message signatures and RFC 9530 digests, as pure functions (profile 6.2 to 6.5)."""

from reference.protocol.message_signatures.explanation import explain
from reference.protocol.message_signatures.request import (
    ClosedMessageVerifyRequest,
    MessageRequest,
    MessageVerifyRequest,
)
from reference.protocol.message_signatures.signing import NotSignable, SignRequest, sign
from reference.protocol.message_signatures.verdict import verify

__all__ = [
    "ClosedMessageVerifyRequest",
    "MessageRequest",
    "MessageVerifyRequest",
    "NotSignable",
    "SignRequest",
    "explain",
    "sign",
    "verify",
]
