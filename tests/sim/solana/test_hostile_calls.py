"""Whatever a client sends, the node answers with JSON-RPC and its state stays whole."""

from __future__ import annotations

import asyncio
import base64
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from sim.json_rpc import RpcError
from sim.solana import control
from sim.solana.rpc import METHODS
from sim.solana.subscriptions import OPENERS

_KEY = str(Pubkey.from_bytes(bytes([3]) * 32))
_WORDS = st.sampled_from(
    [
        *("", "x", "é", "finalized", "processed", "base58", "base64", "jsonParsed", "morse", "all", "full", "none"),
        *(_KEY, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "1" * 32, "1" * 64, "AAAA"),
    ]
)
_SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | _WORDS
_OPTIONS = st.dictionaries(
    st.sampled_from(
        [
            *("commitment", "encoding", "dataSlice", "filters", "limit", "before", "until", "minContextSlot", "mint"),
            *("maxSupportedTransactionVersion", "accounts", "programId", "memcmp", "offset", "length", "bytes"),
            *("lamports", "data", "owner", "executable", "amount", "skipPreflight", "mentions", "transactionDetails"),
            *("addresses", "sigVerify", "replaceRecentBlockhash", "preflightCommitment", "dataSize"),
        ]
    ),
    _SCALARS | st.lists(_SCALARS, max_size=2) | st.dictionaries(_WORDS | st.just("offset"), _SCALARS, max_size=2),
    max_size=4,
)
_PARAMS = st.lists(_SCALARS | _OPTIONS | st.lists(_SCALARS | _OPTIONS, max_size=3), max_size=4)


@pytest.fixture(scope="module", name="shared_bench")
def _shared_bench() -> Any:
    spec = spec_from_file_location("solana_bench", Path(__file__).with_name("conftest.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Bench()


@given(method=st.sampled_from(sorted(METHODS)), params=_PARAMS)
@settings(max_examples=400, deadline=None, derandomize=True)
def test_any_parameters_are_answered(shared_bench: Any, method: str, params: list[Any]) -> None:
    """Result or error object, never an exception."""
    answer = shared_bench.ask(method, *params)
    assert ("result" in answer) != ("error" in answer)


@given(method=st.sampled_from(sorted(OPENERS)), params=_PARAMS)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_any_subscription_is_opened_or_refused(shared_bench: Any, method: str, params: list[Any]) -> None:
    """What opens can tell what is due."""
    try:
        subscription = OPENERS[method](shared_bench.chain, params)
    except RpcError:
        return
    orjson.dumps(list(subscription.due()))


@given(body=st.binary(max_size=60) | st.recursive(_SCALARS, st.lists, max_leaves=6).map(orjson.dumps))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_any_body_is_answered(shared_bench: Any, body: bytes) -> None:
    """Bytes that are no call have JSON-RPC's codes."""
    answer = shared_bench.body(body)
    for reply in answer if isinstance(answer, list) else [answer]:
        assert reply["error"]["code"] in (-32700, -32600)


@given(place=st.integers(0, 400), flipped_bits=st.integers(1, 255), cut=st.integers(0, 20), skip=st.booleans())
@settings(max_examples=250, deadline=None, derandomize=True)
def test_a_damaged_transaction_never_moves_money(
    shared_bench: Any, place: int, flipped_bits: int, cut: int, skip: bool
) -> None:
    """One changed byte or a missing end: refused or dropped, and no balance changes."""
    payer = getattr(shared_bench, "payer", None)
    if payer is None:
        payer = shared_bench.payer = shared_bench.fund_account()
    raw = bytearray(bytes(shared_bench.payment(payer, Pubkey.from_bytes(bytes([9]) * 32), 5)))
    raw[place % len(raw)] ^= flipped_bits
    damaged_bytes = bytes(raw[: len(raw) - cut])
    before = shared_bench.chain.totals()
    answer = shared_bench.ask(
        "sendTransaction", base64.b64encode(damaged_bytes).decode(), {"encoding": "base64", "skipPreflight": skip}
    )
    assert before == shared_bench.chain.totals()
    if "error" in answer:
        assert answer["error"]["code"] in (-32602, -32003)
    else:
        assert skip
        VersionedTransaction.from_bytes(damaged_bytes)


_MEMBERS = st.dictionaries(
    st.sampled_from(["address", "amount", "asset", "blocks", "seconds", "depth", "name", "seed", "count", "id"]),
    _SCALARS.filter(lambda one: not isinstance(one, int) or abs(one) < 50 or one > 10**9)
    | st.lists(_SCALARS, max_size=2),
    max_size=4,
)
_VERBS = ("fund", "mint", "advance", "block_time_offset", "lag", "reorg", "fault", "release", "snapshot", "restore")


@given(verb=st.sampled_from([*_VERBS, "", "x"]), members=_MEMBERS)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_any_control_call_is_answered(shared_bench: Any, verb: str, members: dict[str, Any]) -> None:
    """Done or refused with a reason; the chain goes on either way."""
    status, body = asyncio.run(control.carry_out(shared_bench.chain, {**members, "verb": verb}))
    assert (status, body["ok"]) in ((200, True), (400, False))
    assert body["ok"] or body["error"]
    shared_bench.slots(1)
