"""Challenge tokens in other forms: the same token, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from conformance.oracles import jose
from reference.variants.chameleon.rail_challenge import parse_token, reshaped_token

_TOKEN = "1767225600:0011223344556677:" + "ab" * 32


@pytest.mark.parametrize("form", ["opaque", "jws"])
def test_a_token_in_another_form_is_the_same_token(form: str) -> None:
    """Reading the changed form returns the token."""
    text = reshaped_token(_TOKEN, form)
    assert text != _TOKEN
    assert parse_token(text, form) == _TOKEN


@pytest.mark.parametrize("form", ["opaque", "jws"])
@pytest.mark.parametrize(
    "change", [lambda text: text[:-1], lambda text: text + "A", lambda text: text[::-1], lambda _: ""]
)
def test_a_changed_text_is_no_token(form: str, change: object) -> None:
    """Cut, longer, reversed or empty texts are no tokens."""
    assert callable(change)
    assert parse_token(change(reshaped_token(_TOKEN, form)), form) is None


def test_the_references_own_form_is_none_of_the_others() -> None:
    """A look takes tokens of its own form only."""
    assert parse_token(_TOKEN, "opaque") is None
    assert parse_token(_TOKEN, "jws") is None


def test_the_jws_form_is_a_jws() -> None:
    """It can be read as a compact JWS."""
    assert jose.parse(reshaped_token(_TOKEN, "jws")).claims()["iat"] == 1767225600
