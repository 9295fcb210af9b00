"""Which vectors a raw HTTP message can hold."""

from __future__ import annotations

from conformance.oracles.message_signatures.verify_request_members import message_of
from conformance.vectors import MessageVector


def fits_http(vector: MessageVector) -> bool:
    """Return whether a raw message can hold it: no line breaks in values, a target that HTTP has."""
    message = message_of(vector.message)
    text = "".join(value for _, value in message.headers).replace("\r\n ", "")
    return not any(letter in text for letter in "\r\n") and message.target[:1] in {"/", "*"}
