"""The QR code of a checkout page as an image."""

from __future__ import annotations

import pytest
import segno

from reference.gateway.checkout import qr


def test_the_code_of_a_link_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is loaded again, or looked at by many, does not have its gateway draw again."""
    first = qr.png("algorand://ADDRESS?amount=1000000&xnote=once")
    monkeypatch.setattr(segno, "make_qr", None)

    assert qr.png("algorand://ADDRESS?amount=1000000&xnote=once") == first
