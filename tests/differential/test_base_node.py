"""The simulated Base against Anvil: one script sent to both by unmodified web3.py and plain JSON-RPC."""

from __future__ import annotations

import pytest

from tests.differential.base_cases import CASES as DEEDS
from tests.differential.base_differences import ALLOWED_DIFFERENCES
from tests.differential.base_nodes import BaseNode
from tests.differential.base_refusals import REFUSALS
from tests.differential.comparison import Told, differences, list_outlived, list_unexplained
from tests.differential.recordings import as_recorded, update_recording

CASES = {**DEEDS, **REFUSALS}


@pytest.fixture(scope="module")
def node_facts(base: dict[str, BaseNode]) -> Told:
    """Return every case's facts on each node."""
    return Told(CASES, base)


@pytest.mark.parametrize("kind", ["simulated", "real"])
@pytest.mark.parametrize("case", sorted(CASES))
def test_each_node_does_what_the_case_says(node_facts: Told, case: str, kind: str) -> None:
    """What a case asserts holds on both."""
    assert node_facts.must_hold(kind, case)


@pytest.mark.parametrize("case", sorted(CASES))
def test_both_nodes_tell_the_same(node_facts: Told, case: str) -> None:
    """Values, types, error codes and words, but for what the table allows."""
    assert list_unexplained(node_facts.of(case), ALLOWED_DIFFERENCES) == []


def test_no_allowed_difference_has_gone(node_facts: Told) -> None:
    """A row whose difference does not occur any more has to go."""
    assert list_outlived(node_facts.measured, ALLOWED_DIFFERENCES) == []


def test_the_recording_is_what_is_measured(node_facts: Told) -> None:
    """Both nodes' answers, difference by difference."""
    assert update_recording("base", node_facts.measured) == as_recorded(node_facts.measured)


def test_the_real_node_is_the_one_that_the_table_speaks_of(base: dict[str, BaseNode]) -> None:
    """Anvil 1.7.1 on the one side, ours on the other."""
    names = {kind: node.call("web3_clientVersion") for kind, node in base.items()}
    assert names == {"simulated": "sim-base/1 (revm)", "real": "anvil/v1.7.1"}


def test_a_difference_would_be_noticed(node_facts: Told) -> None:
    """The control: one changed value, one lost member and one changed type, each unexplained."""
    real = node_facts.must_hold("real", "payment")
    changed_facts = {
        "status": {**real, "status": "0x0"},
        "bloom": {name: one for name, one in real.items() if name != "bloom"},
        "receipt.gasUsed": {**real, "receipt": {**real["receipt"], "gasUsed": "int"}},
    }
    for path, changed_fact in changed_facts.items():
        assert [
            one.path for one in list_unexplained(differences("payment", changed_fact, real), ALLOWED_DIFFERENCES)
        ] == [path]
