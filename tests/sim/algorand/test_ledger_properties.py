"""What holds for every transaction: nothing is made or lost, and what is refused changes nothing."""

from __future__ import annotations

import base64
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.algorand.chain import Chain, Genesis
from sim.algorand.encoding import canonical_id, decode_address, encode_address, unpack_all
from sim.algorand.state import Account, Holding
from sim.algorand.stateless_checks import Rejected, Signed
from sim.clock import BlockClock
from tests.sim.algorand.differential.groups import Actors, draw

ACTORS = Actors.make()


def chain_and_case(seed: int) -> tuple[Chain, dict[str, Any]]:
    """Return a chain that holds the start state of a random case, and the case."""
    chain = Chain(Genesis(assets=(1005,)), BlockClock(lambda: 1_700_000_000.0))
    genesis = {"genesis_hash": base64.b64encode(chain.genesis.hash).decode(), "genesis_id": chain.genesis.id}
    case = draw(random.Random(seed), ACTORS, genesis)
    for address, start in case["accounts"].items():
        holdings = {} if start["holding"] is None else {1005: Holding(start["holding"], start["frozen"])}
        auth = None if start["auth"] is None else decode_address(start["auth"])
        chain.state.put(decode_address(address), Account(start["algos"], holdings, auth=auth))
    chain.seal()
    return chain, case


def submit(chain: Chain, case: dict[str, Any]) -> bool:
    raw = b"".join(base64.b64decode(text) for text in case["group"])
    try:
        chain.submit([Signed.of(one) for one in unpack_all(raw)])
    except Rejected:
        return False
    return True


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_money_is_neither_made_nor_lost(seed: int) -> None:
    """Whatever a group does, Algos and each asset add up to what they were, unless an asset was made."""
    chain, case = chain_and_case(seed)
    before, known_assets = dict(chain.totals()), set(chain.state.assets)
    submit(chain, case)
    chain.seal()
    after = {name: total for name, total in chain.totals().items() if name == "algos" or int(name) in known_assets}
    assert after == {name: total for name, total in before.items() if name in after}
    assert after["algos"] == before["algos"]


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_a_refused_group_changes_nothing(seed: int) -> None:
    """After a refusal every account is as it was, in the pool's view and in the next block's."""
    chain, case = chain_and_case(seed)
    before = dict(chain.state.accounts)
    if not submit(chain, case):
        chain.seal()
        assert {key: one for key, one in chain.state.accounts.items() if not one.is_empty} == {
            key: account for key, account in before.items() if not account.is_empty
        }


@settings(max_examples=100)
@given(st.integers(0, 2**32))
def test_a_group_is_applied_once(seed: int) -> None:
    """The same bytes again are refused, in the pool and after their block."""
    chain, case = chain_and_case(seed)
    if submit(chain, case):
        assert not submit(chain, case)
        chain.seal()
        assert not submit(chain, case)


@given(st.binary(min_size=32, max_size=32))
def test_addresses_and_ids_read_back(raw: bytes) -> None:
    """An address decodes to its bytes; an id has one canonical spelling, and its spare bits lead back to it."""
    assert decode_address(encode_address(raw)) == raw
    text = base64.b32encode(raw).decode().rstrip("=")
    assert canonical_id(text) == text
    assert canonical_id(text[:-1] + {"A": "P", "Q": "7"}[text[-1]]) == text
