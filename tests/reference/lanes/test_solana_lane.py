"""What the Solana lane makes of a node's answers: facts when they are sound, else nothing (fail closed)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.transaction import Transaction, VersionedTransaction

from reference.lanes.descriptor import LaneRules, NodeSettings
from reference.lanes.json_rpc import JsonRpc
from reference.lanes.lane import ChainUnavailable
from reference.lanes.registry import open_lane
from reference.lanes.solana.lane import SolanaLane
from reference.protocol import solana_transfers, weld
from reference.protocol.challenge import Terms, Token
from reference.protocol.networks import NETWORKS
from reference.protocol.observed_transaction import ABSENT, ObservedTransaction, Transfer, TxStatus
from reference.protocol.refusals import PaymentRefused
from reference.protocol.service_word import ServiceWord
from tests.reference.lanes.json_rpc_node import SHAPES, UNSOUND, Refusal, RpcNode, Whole, serve_node

NETWORK = NETWORKS["solana_mainnet"]
WORD = ServiceWord("Weldproof")
TOKEN = Token.parse("1767225600:0011223344556677:a09b8bbc7b366385e78e577f66a953775dce4472ed6f732572ad6ab56172b995")
assert TOKEN is not None
REFERENCE = "FsFR6sRtNSjtXvNCBdTRaDaoWd4jVBysLeRHVHi57ZBs"
PAYER = Keypair.from_seed(bytes(32))
OWNER = str(PAYER.pubkey())
SOURCE = str(Pubkey(bytes([1]) * 32))
PAYEE = "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"
DESTINATION = solana_transfers.associated_account(PAYEE, NETWORK.asset_id)
TERMS = Terms(NETWORK.key, NETWORK.caip2, NETWORK.asset_id, "50000", PAYEE)
_DESTINATION = Pubkey.from_string(DESTINATION)
SLOT = 321


def transaction() -> Transaction:
    """Return a welded payment."""
    named = (Pubkey(bytes([1]) * 32), *map(Pubkey.from_string, (NETWORK.asset_id, DESTINATION, OWNER, REFERENCE)))
    metas = [AccountMeta(one, is_signer=str(one) == OWNER, is_writable=False) for one in named]
    data = b"\x0c" + (50_000).to_bytes(8, "little") + b"\x06"
    order = Instruction(Pubkey.from_string(solana_transfers.TOKEN_PROGRAM), data, metas)
    return Transaction([PAYER], Message.new_with_blockhash([order], PAYER.pubkey(), Hash(bytes(32))), Hash(bytes(32)))


RAW = base64.b64encode(bytes(transaction())).decode()
TX = str(transaction().signatures[0])
STATUS = {"slot": SLOT, "confirmations": None, "err": None, "confirmationStatus": "finalized"}
FOUND = {
    "slot": SLOT,
    "blockTime": 1,  # never used (P-LN-06)
    "transaction": [RAW, "base64"],
    "meta": {"err": None, "loadedAddresses": {"writable": [], "readonly": []}},
}
SEEN = ObservedTransaction(
    TxStatus.CONFIRMED,
    final=True,
    block_time=TOKEN.unix,
    sender=OWNER,
    transfers=(Transfer(0, NETWORK.asset_id, OWNER, DESTINATION, 50_000, accounts=(REFERENCE,), source=SOURCE),),
)
SOUND: dict[str, Any] = {
    "getGenesisHash": "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
    "getSignatureStatuses": {"context": {"slot": 400}, "value": [STATUS]},
    "getTransaction": FOUND,
    "getBlockTime": TOKEN.unix,
}


def status(**changes: Any) -> dict[str, Any]:
    return {"context": {"slot": 400}, "value": [{**STATUS, **changes}]}


@pytest.fixture
async def lane_and_node() -> AsyncIterator[tuple[SolanaLane, RpcNode]]:
    """A lane, and a node that knows a payment."""
    async with serve_node(RpcNode()) as node, aiohttp.ClientSession() as session:
        node.results = dict(SOUND)
        lane = open_lane(session, NETWORK, NodeSettings(node.url), LaneRules(WORD))
        assert isinstance(lane, SolanaLane)
        yield lane, node


async def test_a_payment_is_told_and_welds(lane_and_node: tuple[SolanaLane, RpcNode]) -> None:
    """From raw bytes, with the slot's own time; the judgement of the profile's vector."""
    lane, node = lane_and_node
    assert await lane.observe(TX) == SEEN
    assert node.of("getBlockTime") == [[SLOT]]
    assert TOKEN is not None
    assert lane.judge(SEEN, TERMS, TOKEN, TX, 1800) == weld.Payment(OWNER, TX)
    assert lane.build_live_members(TOKEN.text) == {"svm_reference_pubkey": REFERENCE}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"accounts": ()}, "weld_mismatch"),
        ({"accounts": (OWNER,)}, "weld_mismatch"),
        ({"value": 49_999}, "wrong_amount"),
        ({"receiver": PAYEE}, "wrong_recipient"),
        ({"asset": OWNER}, "wrong_asset"),
    ],
)
async def test_what_does_not_weld_is_named(changes: dict[str, Any], code: str) -> None:
    """The payee's own address is no token account; the mint counts where it is named."""
    assert TOKEN is not None
    observed_tx = replace(SEEN, transfers=(replace(SEEN.transfers[0], **changes),))
    with pytest.raises(PaymentRefused) as failure:
        lane_of({}).judge(observed_tx, TERMS, TOKEN, TX, 1800)
    assert failure.value.code == code


@pytest.mark.parametrize(
    ("accounts", "memos", "beside", "welds"),
    [
        ((REFERENCE, OWNER), (), (), True),
        ((OWNER, REFERENCE), (), (), False),
        ((REFERENCE,), (b"thank you", b"otherword:token"), (), True),
        ((REFERENCE,), (b"weldproof:token",), (), False),
        ((REFERENCE,), (b"weldproof:token",), ((),), True),
        ((REFERENCE,), (b"weldproof:token",), ((OWNER,),), False),
    ],
)
async def test_a_transfer_is_for_this_call_alone(
    accounts: tuple[str, ...], memos: tuple[bytes, ...], beside: tuple[tuple[str, ...], ...], welds: bool
) -> None:
    """No reference stands before its own, and no link's memo wants the transfer (decision record 0045)."""
    assert TOKEN is not None
    observed_tx = replace(SEEN.transfers[0], accounts=accounts)
    other_transfers = tuple(
        replace(observed_tx, ordinal=place, value=1, accounts=one) for place, one in enumerate(beside, 1)
    )
    seen = replace(SEEN, transfers=(observed_tx, *other_transfers), memos=memos)
    if welds:
        assert lane_of({}).judge(seen, TERMS, TOKEN, TX, 1800) == weld.Payment(OWNER, TX)
        return
    with pytest.raises(PaymentRefused) as failure:
        lane_of({}).judge(seen, TERMS, TOKEN, TX, 1800)
    assert failure.value.code == "weld_mismatch"


@pytest.mark.parametrize(
    ("report", "expected_value"),
    [
        ({"value": [None]}, ABSENT),
        (status(err={"InstructionError": [0, "Custom"]}), ObservedTransaction(TxStatus.FAILED)),
        (status(confirmationStatus="processed"), ObservedTransaction(TxStatus.PENDING)),
        (status(confirmationStatus=None), ObservedTransaction(TxStatus.PENDING)),
        (status(confirmationStatus="later"), ObservedTransaction(TxStatus.PENDING)),
        (status(confirmationStatus="confirmed"), replace(SEEN, final=False)),
    ],
)
async def test_a_status_says_where_it_stands(
    lane_and_node: tuple[SolanaLane, RpcNode], report: Any, expected_value: ObservedTransaction
) -> None:
    """Only `finalized` is final; an unknown commitment is no state."""
    lane, node = lane_and_node
    node.results["getSignatureStatuses"] = report
    assert await lane.observe(TX) == expected_value


async def test_an_operator_may_find_confirmed_enough(lane_and_node: tuple[SolanaLane, RpcNode]) -> None:
    """WP_SOLANA_COMMITMENT."""
    _, node = lane_and_node
    async with aiohttp.ClientSession() as session:
        lane = open_lane(session, NETWORK, NodeSettings(node.url), LaneRules(WORD, commitment="confirmed"))
        assert lane is not None
        node.results["getSignatureStatuses"] = status(confirmationStatus="confirmed")
        assert (await lane.observe(TX)).final is True


async def test_a_status_before_its_transaction_is_pending(lane_and_node: tuple[SolanaLane, RpcNode]) -> None:
    """The node tells statuses a little earlier than it tells transactions."""
    lane, node = lane_and_node
    node.results["getTransaction"] = None
    assert await lane.observe(TX) == ObservedTransaction(TxStatus.PENDING)


async def test_a_failed_transaction_is_failed_by_either_word(lane_and_node: tuple[SolanaLane, RpcNode]) -> None:
    """Also when only its own entry says so."""
    lane, node = lane_and_node
    node.results["getTransaction"] = {**FOUND, "meta": {"err": "x"}}
    assert (await lane.observe(TX)).status is TxStatus.FAILED


@pytest.mark.parametrize("tables", [None, {}, {"writable": None, "readonly": None}])
async def test_a_transaction_without_tables(lane_and_node: tuple[SolanaLane, RpcNode], tables: Any) -> None:
    """Nodes leave out empty members."""
    lane, node = lane_and_node
    node.results["getTransaction"] = {**FOUND, "meta": {"err": None, "loadedAddresses": tables}}
    assert await lane.observe(TX) == SEEN


def looked_up() -> tuple[dict[str, Any], str]:
    """Return what a node shows of the payment whose mint, destination and reference are from a table, and its id."""
    legacy = transaction().message
    metas = [
        AccountMeta(legacy.account_keys[at], is_signer=at == 0, is_writable=legacy.account_keys[at] == _DESTINATION)
        for at in bytes(legacy.instructions[0].accounts)
    ]
    order = Instruction(Pubkey.from_string(solana_transfers.TOKEN_PROGRAM), bytes(legacy.instructions[0].data), metas)
    table_accounts = [Pubkey.from_string(one) for one in (NETWORK.asset_id, DESTINATION, REFERENCE)]
    table = AddressLookupTableAccount(Pubkey(bytes([7]) * 32), table_accounts)
    message = MessageV0.try_compile(PAYER.pubkey(), [order], [table], Hash(bytes(32)))
    transfer = VersionedTransaction(message, [PAYER])
    loaded_accounts = {"writable": [DESTINATION], "readonly": [NETWORK.asset_id, REFERENCE]}
    raw = base64.b64encode(bytes(transfer)).decode()
    node_answer = {**FOUND, "transaction": [raw, "base64"], "meta": {"err": None, "loadedAddresses": loaded_accounts}}
    return node_answer, str(transfer.signatures[0])


async def test_a_payment_whose_accounts_come_from_a_table(lane_and_node: tuple[SolanaLane, RpcNode]) -> None:
    """What the node shows as loaded counts as if the transaction named it itself."""
    lane, node = lane_and_node
    node.results["getTransaction"], tx_id = looked_up()
    assert await lane.observe(tx_id) == SEEN


@pytest.mark.parametrize(
    "loaded_accounts",
    [
        None,
        {},
        {"writable": [DESTINATION], "readonly": []},
        {"writable": [DESTINATION], "readonly": [NETWORK.asset_id, REFERENCE, OWNER]},
    ],
)
async def test_a_node_that_shows_other_than_what_was_loaded_has_not_answered(
    lane_and_node: tuple[SolanaLane, RpcNode], loaded_accounts: Any
) -> None:
    """A refusal would be final, and the payer has paid: the chain is unavailable until the node shows all."""
    lane, node = lane_and_node
    node_answer, tx_id = looked_up()
    node.results["getTransaction"] = {**node_answer, "meta": {"err": None, "loadedAddresses": loaded_accounts}}
    with pytest.raises(ChainUnavailable, match="loaded addresses"):
        await lane.observe(tx_id)


UNFOUND: dict[str, Any] = {
    "a loaded account that is not looked up": {
        **FOUND,
        "meta": {"err": None, "loadedAddresses": {"writable": [OWNER]}},
    },
    "no meta": {**FOUND, "meta": None},
    "no slot": {**FOUND, "slot": None},
    "true for a slot": {**FOUND, "slot": True},
    "a text for a slot": {**FOUND, "slot": "321"},
    "no transaction": {**FOUND, "transaction": None},
    "a text for a transaction": {**FOUND, "transaction": RAW},
    "base58": {**FOUND, "transaction": [RAW, "base58"]},
    "no base64": {**FOUND, "transaction": ["%", "base64"]},
    "not ASCII": {**FOUND, "transaction": ["é", "base64"]},
    "a number for base64": {**FOUND, "transaction": [7, "base64"]},
    "no bytes": {**FOUND, "transaction": ["", "base64"]},
    "half of it": {**FOUND, "transaction": [RAW[:100], "base64"]},
    "a parsed one": {**FOUND, "transaction": {"message": {}, "signatures": [TX]}},
    "a list for tables": {**FOUND, "meta": {"err": None, "loadedAddresses": [1]}},
    "numbers for addresses": {**FOUND, "meta": {"err": None, "loadedAddresses": {"writable": [1]}}},
    "a text for addresses": {**FOUND, "meta": {"err": None, "loadedAddresses": {"readonly": "abc"}}},
}


@pytest.mark.parametrize("matches", UNFOUND.values(), ids=UNFOUND.keys())
async def test_a_transaction_that_cannot_be_read_is_no_answer(
    lane_and_node: tuple[SolanaLane, RpcNode], matches: Any
) -> None:
    """One member of another kind is enough."""
    lane, node = lane_and_node
    node.results["getTransaction"] = matches
    with pytest.raises(ChainUnavailable):
        await lane.observe(TX)


async def test_another_transaction_is_no_answer(lane_and_node: tuple[SolanaLane, RpcNode]) -> None:
    """Its first signature is what was asked for, or it is not believed."""
    lane, _ = lane_and_node
    with pytest.raises(ChainUnavailable, match="another transaction"):
        await lane.observe(TX[:-1] + ("1" if TX[-1] != "1" else "2"))


@pytest.mark.parametrize("time", [None, "1", True, 1.5, [], Refusal("Block not available for slot 321", -32004)])
async def test_a_slot_without_a_time_is_no_answer(lane_and_node: tuple[SolanaLane, RpcNode], time: Any) -> None:
    """Without it it is unknown whether the payment is older than the challenge."""
    lane, node = lane_and_node
    node.results["getBlockTime"] = time
    with pytest.raises(ChainUnavailable):
        await lane.observe(TX)


@pytest.mark.parametrize("time", [None, Refusal("Block 321 cleaned up, does not exist on node", -32001)])
async def test_a_block_that_the_node_forgot_has_the_time_of_its_listing(
    lane_and_node: tuple[SolanaLane, RpcNode], time: Any
) -> None:
    """P-LN-06: getSignaturesForAddress tells it too, of this transaction and of no other."""
    lane, node = lane_and_node
    assert TOKEN is not None
    other_request = {"signature": TX[:-1], "slot": SLOT, "blockTime": 7}
    node.results["getBlockTime"] = time
    node.results["getSignaturesForAddress"] = [
        other_request,
        "x",
        {"signature": TX, "slot": SLOT, "blockTime": TOKEN.unix},
    ]
    assert await lane.observe(TX) == SEEN
    assert [asked[0] for asked in node.of("getSignaturesForAddress")] == [REFERENCE]
    for listed in ([other_request], [{"signature": TX, "slot": SLOT, "blockTime": None}], {"signature": TX}, 5):
        node.results["getSignaturesForAddress"] = listed
        with pytest.raises(ChainUnavailable):
            await lane.observe(TX)


@pytest.mark.parametrize("value", [{}, {"value": None}, {"value": []}, {"value": [STATUS, STATUS]}, {"value": ["x"]}])
async def test_a_status_that_is_none_is_no_answer(lane_and_node: tuple[SolanaLane, RpcNode], value: Any) -> None:
    """One question, one status."""
    lane, node = lane_and_node
    node.results["getSignatureStatuses"] = value
    with pytest.raises(ChainUnavailable):
        await lane.observe(TX)


@pytest.mark.parametrize("answer", UNSOUND.values(), ids=UNSOUND.keys())
@pytest.mark.parametrize("method", ["getSignatureStatuses", "getTransaction", "getBlockTime"])
async def test_an_unsound_answer_is_no_answer(
    lane_and_node: tuple[SolanaLane, RpcNode], method: str, answer: Whole | Refusal
) -> None:
    """To whatever question: the chain counts as away."""
    lane, node = lane_and_node
    node.results[method] = answer
    with pytest.raises(ChainUnavailable):
        await lane.observe(TX)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
async def test_a_result_of_another_shape_is_no_crash(lane_and_node: tuple[SolanaLane, RpcNode], shape: Any) -> None:
    """`ChainUnavailable`, except where a number is what belongs there."""
    lane, node = lane_and_node
    for method in ("getSignatureStatuses", "getTransaction", "getBlockTime"):
        node.results = {**SOUND, method: shape}
        if (method, shape) == ("getBlockTime", 0) and shape is not False:
            assert (await lane.observe(TX)).block_time == 0
            continue
        with pytest.raises(ChainUnavailable):
            await lane.observe(TX)


@pytest.mark.parametrize(
    ("genesis", "expected_value"),
    [(SOUND["getGenesisHash"], True), ("EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG", False), (7, False), ("", False)],
)
async def test_the_node_s_network_is_checked(
    lane_and_node: tuple[SolanaLane, RpcNode], genesis: Any, expected_value: bool
) -> None:
    """P-NW-06: the genesis hash begins with the network's CAIP-2 reference."""
    lane, node = lane_and_node
    node.results["getGenesisHash"] = genesis
    assert await lane.check_node() is expected_value


class Told(JsonRpc):
    """A node without a network: what it tells stands in a table."""

    def __init__(self, text: dict[str, Any]) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.told = text

    async def call(self, method: str, *params: Any) -> Any:
        del params
        return self.told.get(method)

    async def batch(self, *calls: Any) -> list[Any]:
        return [await self.call(*call) for call in calls]


def lane_of(text: dict[str, Any]) -> SolanaLane:
    return SolanaLane(NETWORK, Told({**SOUND, **text}), WORD, "finalized")


MEMBERS = [*STATUS, *FOUND, "value", "loadedAddresses", "writable", "readonly"]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
    | st.sampled_from([RAW, "base64", "finalized", "confirmed", DESTINATION, TX]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
    max_leaves=12,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(list(FOUND)), st.sampled_from(list(STATUS)), JSON, JSON)
async def test_no_shape_of_an_answer_is_a_crash(name: str, status_name: str, value: Any, whole: Any) -> None:
    """Whatever stands in one member, or instead of all: facts of the right types, or `ChainUnavailable`."""
    for told in (
        {"getTransaction": {**FOUND, name: value}},
        {"getTransaction": {**FOUND, "meta": {"err": None, "loadedAddresses": value}}},
        {"getTransaction": whole},
        {"getSignatureStatuses": status(**{status_name: value})},
        {"getSignatureStatuses": {"value": whole}},
        {"getBlockTime": whole},
        {"getBlockTime": None, "getSignaturesForAddress": whole},
        {"getBlockTime": None, "getSignaturesForAddress": [{"signature": TX, "blockTime": value}]},
    ):
        try:
            observed_tx = await lane_of(told).observe(TX)
        except ChainUnavailable:
            continue
        assert isinstance(observed_tx.block_time, int)
        assert all(isinstance(transfer.value, int) for transfer in observed_tx.transfers)


def test_the_fee_payer_that_nobody_has_the_key_of() -> None:
    """P-CH-07: a stock client's transaction can never be submitted."""
    nobody = hashlib.sha256(b"weldproof-payable-core:solana-no-fee-payer").digest()
    assert lane_of({}).facts.extra == {"feePayer": solana_transfers.reference_account(nobody)}
    assert lane_of({}).facts.extra["feePayer"] == "N1gM65ozhsoWjEnN5vpvmf4BzF8k2kQRVQLkhLk4Tpw"


@pytest.mark.parametrize(
    ("balances", "payer"),
    [
        ([{"accountIndex": 1, "owner": PAYEE}], PAYEE),
        ([{"accountIndex": 2, "owner": PAYEE}], OWNER),
        ([{"accountIndex": 99, "owner": PAYEE}, {"accountIndex": "1", "owner": PAYEE}, {"accountIndex": 1}, 7], OWNER),
        (None, OWNER),
        ({}, OWNER),
    ],
)
async def test_the_owner_of_the_debited_account_pays(
    lane_and_node: tuple[SolanaLane, RpcNode], balances: Any, payer: str
) -> None:
    """A delegate may sign for him; where the node does not tell whose the account was, the signer counts."""
    lane, node = lane_and_node
    keys = [str(balance) for balance in transaction().message.account_keys]
    places = {1: keys.index(SOURCE), 2: keys.index(DESTINATION)}
    report = [
        {**balance, "accountIndex": places.get(balance["accountIndex"], balance["accountIndex"])}
        if isinstance(balance, dict)
        else balance
        for balance in balances or []
    ]
    meta = {**FOUND["meta"], "preTokenBalances": report if isinstance(balances, list) else balances}  # type: ignore[dict-item]
    node.results["getTransaction"] = {**FOUND, "meta": meta}
    assert (await lane.observe(TX)).transfers[0].sender == payer
