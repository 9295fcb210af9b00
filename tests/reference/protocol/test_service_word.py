"""The service word."""

from __future__ import annotations

import pytest

from reference.protocol.service_word import ServiceWord


def test_the_default_word_names_kind_and_prefix() -> None:
    """Weldproof gives the kind and the hash prefix of the profile."""
    word = ServiceWord()
    assert (word.word, word.lower) == ("Weldproof", "weldproof")
    assert word.receipt_kind == "weldproof/payable-svc-receipt/1"
    assert word.payable_core == "weldproof-payable-core"


@pytest.mark.parametrize("word", ["", "A", "1ab", "a-b", "Wéld", "a" * 33, "Weld\n", "Weld proof"])
def test_a_word_outside_the_pattern_is_refused(word: str) -> None:
    """Only a letter followed by 1 to 31 letters or digits is a service word."""
    with pytest.raises(ValueError, match="letter"):
        ServiceWord(word)


@pytest.mark.parametrize("word", ["Ab", "x402", "a" * 32])
def test_a_word_inside_the_pattern_is_taken(word: str) -> None:
    """The bounds of the pattern are inside."""
    assert word.lower() == ServiceWord(word).lower
