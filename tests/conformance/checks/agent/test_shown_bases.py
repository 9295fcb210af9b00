"""Where a signature base is found in an explanation, whatever it is called."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from conformance.surfaces.agent.answer_reader import base

_LINES = ['"@method": GET', '"@path": /', '"@signature-params": ("@method" "@path");created=1']
_BASE = "\n".join(_LINES)
_NOTES = ["Check the key.", 'The last line was left out. "@signature-params" is always signed (RFC 9421 section 2.5).']


@pytest.mark.parametrize(
    "shown",
    [_BASE, _LINES, base64.b64encode(_BASE.encode()).decode()],
    ids=["a text", "its lines", "in base64"],
)
@pytest.mark.parametrize("name", ["signature_base", "what_was_signed"])
def test_a_base_is_found_behind_notes_that_speak_of_it(name: str, shown: object) -> None:
    """A note that names the component of the parameters is no base, also where it comes first."""
    document: dict[str, Any] = {"diagnosis": _NOTES, "notes": "\n".join(_NOTES), name: shown}
    assert base(document, None) == _BASE


def test_notes_alone_show_no_base() -> None:
    """Where nothing is a base, none is found."""
    assert base({"diagnosis": _NOTES}, None) is None


def test_a_base_that_is_wrong_is_one_all_the_same() -> None:
    """Spaces before the colon break it, which is for the check to say."""
    wrong = _BASE.replace('params":', 'params" :')
    assert base({"what": wrong}, None) == wrong
