"""What the generating process knows by itself instead of finding it out."""

from __future__ import annotations

import pytest
from hypothesis.internal import charmap

from conformance.fuzz import request_generator


@pytest.mark.parametrize("codec", ["utf-8", "ascii"])
def test_a_codec_takes_the_characters_that_hypothesis_finds(codec: str) -> None:
    """What a codec encodes is what trying each character finds, so that the same requests are drawn."""
    characters = request_generator._tried_out(codec)
    assert charmap.intervals_from_codec(codec) == characters
