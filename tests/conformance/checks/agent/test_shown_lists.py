"""In what forms an explanation may list components and parameters: their names are the target's own."""

from __future__ import annotations

import pytest

from conformance.checks.agent.explain import find_lacking_parameters, shows_components
from conformance.surfaces.agent.answer_reader import validity

_COMPONENTS = ("@method", "@authority")
_PARAMETERS = {"created": 1_800_000_000, "keyid": "k"}


@pytest.mark.parametrize(
    "shown",
    [
        ["@method", "@authority"],
        ['"@method"', '"@authority";req'],
        [{"name": "@method"}, {"name": "@authority"}],
        [{"part": "@method", "with": ""}, {"part": "@authority", "with": ""}],
        [["@method", {}], ["@authority", {}]],
        '("@method" "@authority")',
    ],
)
def test_components_are_read_in_any_list(shown: object) -> None:
    """In their order, and just these."""
    assert shows_components({"covers": shown}, _COMPONENTS)
    assert not shows_components({"covers": shown}, _COMPONENTS[::-1])
    assert not shows_components({"covers": shown}, (*_COMPONENTS, "@path"))


@pytest.mark.parametrize(
    "shown",
    [
        {"created": 1_800_000_000, "keyid": "k"},
        [{"name": "created", "value": 1_800_000_000}, {"name": "keyid", "value": "k"}],
        [["created", 1_800_000_000], ["keyid", "k"]],
        ';created=1800000000;keyid="k"',
    ],
)
def test_parameters_are_read_in_any_list(shown: object) -> None:
    """Each with its value."""
    assert find_lacking_parameters({"signed_with": shown}, _PARAMETERS) == []
    assert find_lacking_parameters({"signed_with": shown}, {**_PARAMETERS, "nonce": "n"}) == ["nonce"]
    assert find_lacking_parameters({"signed_with": shown}, {**_PARAMETERS, "keyid": "K"}) == ["keyid"]


def test_words_may_turn_truth_values_round() -> None:
    """A member that says whether something is wrong is bound like a word."""
    words = {"true": False, "false": True}
    assert validity({"finding": {"tampered": False}}, "finding.tampered", words) is True
    assert validity({"finding": {"tampered": True}}, "finding.tampered", words) is False
    assert validity({"valid": True}, None) is True
