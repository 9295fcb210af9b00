"""What may stand in the trust set, and what a path segment may mean (P-CP-01, P-CP-02)."""

from __future__ import annotations

import pytest

from reference.protocol.trust_set import is_did, meant_by


@pytest.mark.parametrize("text", ["did:web:a", "did:web:h%3A8443:p", "did:x1:A._-%:z", "did:web:" + "a" * 504])
def test_these_are_dids(text: str) -> None:
    """Up to 512 characters."""
    assert is_did(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "did", "did:web", "did:web:", "did::a", "DID:web:a", "did:Web:a", "did:web:a/b", "did:web:a?b"),
        *("did:web:a#b", "did:web:a b", "did:web:é", "did:web:a\n", " did:web:a", "did:web:" + "a" * 505),
    ],
)
def test_these_are_none(text: str) -> None:
    """Case, characters, length."""
    assert not is_did(text)


@pytest.mark.parametrize(
    ("segment", "meant"),
    [
        (b"did:web:h", ("did:web:h",)),
        (b"did:web:h%3A1", ("did:web:h:1", "did:web:h%3A1")),
        (b"did:web:h%253A1", ("did:web:h%3A1", "did:web:h%253A1")),
        (b"%64id", ("did", "%64id")),
        (b"%C3%A9", ("é", "%C3%A9")),
        (b"%", ("%",)),
        (b"%FF", ()),
        (b"\xff", ()),
    ],
)
def test_a_segment_means_what_it_decodes_to_and_then_itself(segment: bytes, meant: tuple[str, ...]) -> None:
    """Decoded once; what is no text means nothing."""
    assert meant == meant_by(segment)
