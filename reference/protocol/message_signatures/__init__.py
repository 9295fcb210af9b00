"""RFC 9421 message signatures and RFC 9530 digests, as pure functions (6.2 to 6.5)."""

from reference.protocol.message_signatures.algorithms import ALGORITHMS, ExpectedKey
from reference.protocol.message_signatures.explanation import explain
from reference.protocol.message_signatures.fields import Fields
from reference.protocol.message_signatures.message import Message
from reference.protocol.message_signatures.policy import Policy
from reference.protocol.message_signatures.request import (
    ClosedMessageVerifyRequest,
    MessageRequest,
    MessageVerifyRequest,
)
from reference.protocol.message_signatures.signing import NotSignable, SignRequest, sign
from reference.protocol.message_signatures.verdict import MessageVerdict, judge_message, verify

__all__ = [
    "ALGORITHMS",
    "ClosedMessageVerifyRequest",
    "ExpectedKey",
    "Fields",
    "Message",
    "MessageRequest",
    "MessageVerdict",
    "MessageVerifyRequest",
    "NotSignable",
    "Policy",
    "SignRequest",
    "explain",
    "judge_message",
    "sign",
    "verify",
]
