"""Signatures of webhooks: the profile's vector, the header's form, and what changes them (P-WH-04 to P-WH-06)."""

from __future__ import annotations

import hashlib
import hmac
import re

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from reference.protocol.service_word import ServiceWord
from reference.protocol.webhook_signature import header_name, header_value, signed_bytes, v1, v2, v2_key

SECRET, T, BODY = "weldw_example", 1767225600, b'{"id":"evt_1"}'
WORD = ServiceWord("Weldproof")
V1 = "351a91345c67f9a889829ef89fe710f3574f763e7509536811ef6fbecb416a83"
V2_KEY = "07daa4af641a1ea54fa0e04e203c44846066385fc258e554a09909978fe2b6e8dbb0733bb9f8a8f2b79e440a68ba1057"
V2 = "5ae0484b98daa4c95d9241be8c5f7784daa19a49d13421d90847da252bb170808665038e5f88fd8a729e41ff2bc83126"


def test_the_vector_of_the_profile() -> None:
    """Message, v1, the derived key and v2 of section 4."""
    assert signed_bytes(BODY, t=T) == b'1767225600.{"id":"evt_1"}'
    assert v1(SECRET, BODY, t=T) == V1
    assert v2_key(SECRET, WORD).hex() == V2_KEY
    assert v2(SECRET, BODY, t=T, word=WORD) == V2


def test_the_derived_key_is_another_librarys_too() -> None:
    """HKDF-SHA256 of the secret with the word's own salt, for another word."""
    salt = b"acme-webhook-v2-pqc"
    derived_key = HKDF(SHA256(), 48, salt, b"hmac-sha384-outbound").derive(SECRET.encode())
    assert v2_key(SECRET, ServiceWord("Acme")) == derived_key


def test_the_header_has_the_stated_form() -> None:
    """No spaces, lower-case hex, v2 behind v1 when it is asked for, the service word in the name."""
    assert header_name(ServiceWord("Acme")) == "X-Acme-Signature"
    assert header_value(SECRET, BODY, t=T) == f"t={T},v1={V1}"
    assert header_value(SECRET, BODY, t=T, word=WORD) == f"t={T},v1={V1},v2={V2}"
    assert re.fullmatch(r"t=[0-9]+,v1=[0-9a-f]{64}", header_value("é", b"\xff\x00", t=1))


@pytest.mark.parametrize(
    ("secret", "body", "t"), [("weldw_examplf", BODY, T), (SECRET, BODY + b" ", T), (SECRET, BODY, T + 1)]
)
def test_each_input_counts(secret: str, body: bytes, t: int) -> None:
    """Another secret, one byte more, or another time gives another signature, that of plain HMAC."""
    signature = v1(secret, body, t=t)
    assert signature != V1
    assert signature == hmac.new(secret.encode(), f"{t}.".encode() + body, hashlib.sha256).hexdigest()
