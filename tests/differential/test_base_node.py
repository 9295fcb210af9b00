"""The simulated Base against Anvil: one script told to both by unmodified web3.py and plain JSON-RPC."""

from __future__ import annotations

from typing import Any

import pytest

from tests.differential.base_cases import CASES
from tests.differential.base_differences import ALLOWED
from tests.differential.base_nodes import BaseNode
from tests.differential.comparison import Difference, differences, outlived, unexplained
from tests.differential.recordings import as_recorded, recorded


@pytest.fixture(scope="module")
def facts(base: dict[str, BaseNode]) -> dict[str, dict[str, Any]]:
    """Return every case's facts on each node; a case that fails on one has the failure as its fact."""
    return {kind: {name: _told(node, name) for name in CASES} for kind, node in base.items()}


def _told(node: BaseNode, name: str) -> Any:
    try:
        return CASES[name](node)
    except Exception as fault:  # noqa: BLE001 - it is raised again by the test of that case
        return fault


@pytest.fixture(scope="module")
def measured(facts: dict[str, dict[str, Any]]) -> list[Difference]:
    """Return all differences."""
    pairs = [(name, facts["simulated"][name], facts["real"][name]) for name in CASES]
    return [one for name, ours, theirs in pairs for one in differences(name, ours, theirs)]


@pytest.mark.parametrize("kind", ["simulated", "real"])
@pytest.mark.parametrize("case", sorted(CASES))
def test_each_node_does_what_the_case_says(facts: dict[str, dict[str, Any]], case: str, kind: str) -> None:
    """What a case asserts holds on both."""
    found = facts[kind][case]
    if isinstance(found, Exception):
        raise found
    assert found


@pytest.mark.parametrize("case", sorted(CASES))
def test_both_nodes_tell_the_same(measured: list[Difference], case: str) -> None:
    """Values, types, error codes and words, but for what the table allows."""
    assert unexplained([one for one in measured if one.case == case], ALLOWED) == []


def test_no_allowed_difference_has_gone(measured: list[Difference]) -> None:
    """A row whose difference does not occur any more has to go."""
    assert outlived(measured, ALLOWED) == []


def test_the_recording_is_what_is_measured(measured: list[Difference]) -> None:
    """Both nodes' answers, difference by difference."""
    assert recorded("base", measured) == as_recorded(measured)


def test_a_difference_would_be_noticed(facts: dict[str, dict[str, Any]]) -> None:
    """The control: one changed value, one lost member and one changed type, each unexplained."""
    told = facts["real"]["payment"]
    changed = {
        "status": {**told, "status": "0x0"},
        "bloom": {name: one for name, one in told.items() if name != "bloom"},
        "receipt.gasUsed": {**told, "receipt": {**told["receipt"], "gasUsed": "int"}},
    }
    for path, other in changed.items():
        assert [one.path for one in unexplained(differences("payment", other, told), ALLOWED)] == [path]
