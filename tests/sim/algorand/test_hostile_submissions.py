"""What wallets would never send: each submission gets a refusal in the node's form, and none stops the node."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.algorand.algod import build_algod
from sim.algorand.chain import Chain, Genesis
from sim.algorand.encoding import pack, transaction_id
from sim.clock import BlockClock

JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=9) | st.binary(max_size=33),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["type", "snd", "fee", "fv", "lv", "gen", "gh", "grp", "lx", "note", "rekey", "amt", "rcv", "close", "apar", "caid"]
)


def new_chain() -> Chain:
    return Chain(Genesis(), BlockClock(lambda: 1_700_000_000.0))


def of_the_bank(chain: Chain, **fields: Any) -> bytes:
    """Return a transaction that is signed by the bank and lacks nothing else."""
    bank = bytes(chain.bank.verify_key)
    all_fields = {"snd": bank, "fee": 1000, "fv": 1, "lv": 900, "gh": chain.genesis.hash, **fields}
    signature = chain.bank.sign(b"TX" + pack(all_fields)).signature
    return bytes(msgpack.packb({"sig": signature, "txn": dict(sorted(all_fields.items()))}))


async def submit(chain: Chain, data: bytes) -> tuple[int, dict[str, Any]]:
    answer = await build_algod(chain, "").test_client().post("/v2/transactions", data=data)
    body: dict[str, Any] = await answer.get_json()
    return answer.status_code, body


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty txgroup"),
        (b"\xc1", "[pos 1]: only encoded map or array can be decoded into a struct"),
        (b"\x01", "[pos 1]: only encoded map or array can be decoded into a struct"),
        (b"\x80", "invalid : unknown tx type "),
        (b"\x82\xa1a\x01", "empty txgroup"),  # it breaks off
        (b"\x82\xc4\x01a\x01\xa1a\x01", "msgpack decode error"),  # a key of bytes beside one of text
        (b"\x82\xa1a\x01\xa1a\x01", "stream map with key a"),  # a member twice
        (b"\x81\xa1a" * 500 + b"\x01", "msgpack decode error"),
        (b"\x81\xa1a" * 100_000 + b"\x01", "msgpack decode error"),
        (msgpack.packb({"txn": {"type": ["pay"]}}), "field type has a wrong type"),
        (msgpack.packb({"txn": {"snd": 7, "type": "pay"}}), "field snd has a wrong type"),
        (msgpack.packb({"txn": {"snd": b"short", "type": "pay"}}), "field snd is no address"),
        (msgpack.packb({"txn": {"type": "pay", "zz": 1}}), "stream map with key zz"),
        (msgpack.packb({"txn": {"type": "pay"}, "sgnr": "text"}), "field sgnr is no address"),
    ],
)
async def test_bytes_that_are_no_transaction_are_refused(data: bytes, reason: str) -> None:
    """Bad msgpack, unknown members, bad types: 400 with a message that says which."""
    status, body = await submit(new_chain(), data)
    assert status == 400
    assert reason in body["message"]


@pytest.mark.parametrize("kind", ["appl", "keyreg", "stpf", "hb", "nonsense"])
async def test_types_that_are_not_evaluated_are_named(kind: str) -> None:
    """A type that this node does not evaluate is refused by its name, before its fields are looked at."""
    chain = new_chain()
    status, body = await submit(chain, of_the_bank(chain, type=kind, apid=5))
    assert status == 400
    assert f"unknown tx type {kind}" in body["message"]


async def test_a_logic_signature_is_refused() -> None:
    """A program in place of a signature is refused as such."""
    chain = new_chain()
    raw = msgpack.unpackb(of_the_bank(chain, type="pay", rcv=b"\1" * 32))
    data = msgpack.packb({"lsig": {"l": b"\x01"}, "txn": raw["txn"]})
    status, body = await submit(chain, data)
    assert status == 400
    assert "logic signatures are not evaluated" in body["message"]


@pytest.mark.parametrize(
    "params",
    [
        {"t": "x"},
        {"t": -1},
        {"t": [1]},
        {"t": True},
        {"dc": -1},
        {"dc": 20},
        {"df": 7},
        {"un": "nine char"},
        {"un": b"USDC"},
        {"an": "x" * 33},
        {"au": "x" * 97},
        {"m": b"short"},
        {"m": "text"},
        {"am": b"x" * 31},
        {"zz": 1},
    ],
)
async def test_odd_asset_parameters_make_no_asset(params: dict[str, Any]) -> None:
    """An asset whose parameters have a wrong type, size or name is refused, and no asset comes to be."""
    chain = new_chain()
    before = set(chain.state.assets)
    status, body = await submit(chain, of_the_bank(chain, type="acfg", apar=params))
    assert status == 400
    assert body["message"].startswith(("transaction {_struct:{}} invalid : ", "msgpack decode error: "))
    chain.seal()
    assert before == set(chain.state.assets)


@pytest.mark.parametrize("note", [b"\0" * 32, b"\0", b"x" * 1024])
async def test_any_note_up_to_the_limit_is_taken(note: bytes) -> None:
    """A note is zero only when it is empty: 32 zero bytes are a note like any other."""
    chain = new_chain()
    status, body = await submit(chain, of_the_bank(chain, type="pay", rcv=b"\1" * 32, amt=200_000, note=note))
    assert (status, set(body)) == (200, {"txId"})


@pytest.mark.parametrize(("size", "fee"), [(1025, 1001), (1034, 1001), (1035, 1002), (4096, 1308)])
async def test_each_byte_of_a_long_note_costs_more(size: int, fee: int) -> None:
    """A byte beyond 1,024 costs a tenth of a microalgo, rounded up over the group."""
    chain = new_chain()
    fields = {"type": "pay", "rcv": b"\1" * 32, "amt": 200_000, "note": b"x" * size}
    assert (await submit(chain, of_the_bank(chain, **fields, fee=fee - 1)))[0] == 400
    assert (await submit(chain, of_the_bank(chain, **fields, fee=fee)))[0] == 200


async def test_a_note_beyond_the_limit_is_refused_at_any_price() -> None:
    """One byte more than the protocol's limit."""
    chain = new_chain()
    fields = {"type": "pay", "rcv": b"\1" * 32, "amt": 200_000, "note": b"x" * 4097, "fee": 100_000}
    status, body = await submit(chain, of_the_bank(chain, **fields))
    assert status == 400
    assert "note too big: 4097 > 4096" in body["message"]


async def test_members_in_any_order_are_one_transaction() -> None:
    """The id and the signature are those of the canonical form, whatever was sent."""
    chain = new_chain()
    raw = msgpack.unpackb(of_the_bank(chain, type="pay", rcv=b"\1" * 32, amt=200_000))
    swapped_members = {"txn": dict(reversed(raw["txn"].items())), "sig": raw["sig"]}
    longer = msgpack.packb(swapped_members).replace(
        msgpack.packb("fv") + b"\x01", msgpack.packb("fv") + b"\xcd\x00\x01"
    )
    status, body = await submit(chain, longer)
    assert (status, body) == (200, {"txId": transaction_id(raw["txn"])})


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["sig", "msig", "sgnr", "lsig", "txn"]), JSON_LIKE),
    st.dictionaries(FIELDS, JSON_LIKE),
)
async def test_no_map_breaks_the_node(envelope: dict[str, Any], fields: dict[str, Any]) -> None:
    """Whatever members hold, the answer is 400 with a message, and the next block comes."""
    chain = new_chain()
    raw = {**envelope, "txn": {"type": "pay", **fields}}
    status, body = await submit(chain, pack(raw))
    assert status == 400
    assert body["message"]
    assert chain.seal().transactions == ()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v2/nothing", 404),
        ("//v2/status", 404),
        ("/v2/blocks/-1", 400),
        ("/v2/blocks/999999999999999999999", 400),
        ("/v2/blocks/9999", 404),
        ("/v2/accounts/AAAA/assets/1", 400),
        ("/v2/accounts/AAAA", 400),
        ("/v2/transactions/pending/AAAA", 400),
        ("/v2/assets/4", 404),
    ],
)
async def test_every_refusal_is_an_object_with_a_message(path: str, status: int) -> None:
    """Also for addresses that the node does not serve."""
    answer = await build_algod(new_chain(), "").test_client().get(path)
    assert answer.status_code == status
    assert (await answer.get_json())["message"]


async def test_a_block_hash_is_the_52_character_text() -> None:
    """As algod tells it: base32 without padding."""
    answer = await build_algod(new_chain(), "").test_client().get("/v2/blocks/0/hash")
    block_hash = (await answer.get_json())["blockHash"]
    assert len(block_hash) == 52
    assert block_hash.isalnum()


async def test_control_verbs_are_for_this_machine_only() -> None:
    """A caller from elsewhere gets 403, whatever the node is bound to."""
    client = build_algod(new_chain(), "").test_client()
    answer = await client.get("/control", scope_base={"client": ("192.0.2.7", 1234)})
    assert answer.status_code == 403
