"""Receipts do not show in the log, and what stands there instead does not depend on which check came first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.http.client import Names
from conformance.receipts.verifier import name_texts

HEADER, PAYLOAD, SIGNATURE = "eyJhbGciOiJFZERTQSJ9Long", "eyJqdXJpc2RpY3Rpb24iOiJVSyJ9", "c2lnbmF0dXJlLW9mLWEtcmVj"
WHOLE = f"{HEADER}.{PAYLOAD}.{SIGNATURE}"


def _names_of(value: Any) -> Names:
    names = Names()
    case: Any = SimpleNamespace(client=SimpleNamespace(names=names))
    name_texts(case, value, "RECEIPT")
    return names


@pytest.mark.parametrize(
    ("letters", "shown_text"),
    [
        (WHOLE, "$RECEIPT"),
        (f" {WHOLE}", "$RECEIPT"),
        (f"{WHOLE}\n", "$RECEIPT"),
        (f"eyJhb*{WHOLE[5:]}", "$RECEIPT"),
        (f"{HEADER}.eyJqd\n{PAYLOAD[5:]}.{SIGNATURE}", "$RECEIPT"),
    ],
)
def test_a_receipt_with_a_letter_too_many_is_named_as_well(letters: str, shown_text: str) -> None:
    """As it was sent, and within a body, whatever the letter left of it."""
    names = _names_of({"jws": letters})
    assert names.redact(letters) == shown_text
    for part in (HEADER, PAYLOAD, SIGNATURE):
        assert part not in names.redact(f'{{"jws":"{letters}"}}')


def test_a_signature_of_noughts_is_nobodys() -> None:
    """Messages of other checks have one, too, before a receipt was sent or after."""
    noughts = "A" * 86
    names = _names_of({"jws": f"{HEADER}.{PAYLOAD}.{noughts}"})
    assert names.redact(f"sig1=:{noughts}==:") == f"sig1=:{noughts}==:"
    assert names.redact(f"{HEADER}.{PAYLOAD}.{noughts}") == "$RECEIPT"
