"""Paying checkout links on three lanes, rightly and in every wrong way, against nodes in processes of their own."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from algosdk import account
from eth_account import Account as Signer
from eth_utils.crypto import keccak
from solana.rpc.commitment import Confirmed
from solders.keypair import Keypair
from solders.signature import Signature

from conformance.http.client import Names
from conformance.lanes.base.checkout import BaseCheckout
from conformance.lanes.checkout_request import MEMO_WAYS, USDC, CheckoutPayer, CheckoutRequest, WrongPayment
from conformance.lanes.payers import open_checkout_payer, open_payer, open_payer_host
from conformance.outcome import Inconclusive
from conformance.target import LANES, Budgets, Chains, Profile, Secret
from conformance.target.lanes.algorand import AlgorandChain
from conformance.target.lanes.base import BaseChain
from conformance.target.lanes.solana import SolanaChain
from tests import prepared

MEMO = "weldproof:AAECAwQFBgcICQoLDA0ODw"
AMOUNT = 8_410_000
NETWORKS = {"algorand": "algorand_testnet", "base": "base_sepolia", "solana": "solana_devnet"}


@pytest.fixture(scope="module", params=LANES)
def chains(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Chains]]:
    """A lane and the node that its checkout payments are made on, a test network."""
    lane = request.param
    if lane == "algorand":
        token = tmp_path_factory.mktemp("algod") / "token"
        token.write_text("a" * 64)
        words = ["--algod-port", "0", "--indexer-port", "0", "--block-seconds", "0.02", "--token-file", str(token)]
        with prepared.run_ready("sim.algorand", *words) as ready:
            url = str(ready["algod"])
            secret = Secret(file=Path(token))
            chain = AlgorandChain(network=NETWORKS[lane], algod=url, token=secret, control=f"{url}/control")
            yield lane, Chains.model_validate({"algorand": chain})
    elif lane == "base":
        with prepared.run_ready("sim.base", "--port", "0", "--block-seconds", "0.02", "--chain-id", "84532") as ready:
            url = str(ready["rpc"])
            table = BaseChain(network=NETWORKS[lane], rpc=url, control=f"{url}/control")
            yield lane, Chains.model_validate({lane: table})
    else:
        with prepared.run_ready("sim.solana", "--port", "0", "--ws-port", "0", "--slot-seconds", "0.005") as ready:
            url = str(ready["rpc"])
            chain_of_solana = SolanaChain(network=NETWORKS[lane], rpc=url, control=f"{url}/control")
            yield lane, Chains.model_validate({lane: chain_of_solana})


@asynccontextmanager
async def open_checkout(chains: tuple[str, Chains]) -> AsyncIterator[tuple[CheckoutPayer, Any, CheckoutRequest]]:
    """A payer, the lane's payer below it, and a bill of an account that is ready to be paid."""
    lane, nodes = chains
    profile = Profile(budgets=Budgets(confirmation=120.0, request=120.0))
    below: Any = await open_payer(lane, profile, Names(), nodes)
    try:
        bill = CheckoutRequest(USDC[NETWORKS[lane]], payee(lane), AMOUNT, MEMO)
        if lane == "algorand":
            await below.control("fund", address=bill.address, amount="10000000")
            await below.control("opt_in", address=bill.address, asset=bill.asset)
            await below.control("mint", address=bill.address, asset=bill.asset, amount="1")
        yield open_checkout_payer(below), below, bill
    finally:
        await below.close()


def payee(lane: str) -> str:
    if lane == "algorand":
        return str(account.generate_account()[1])
    return str(Signer.create().address) if lane == "base" else str(Keypair().pubkey())


async def test_right_payment_credits_the_payee_and_nobody_else(chains: tuple[str, Chains]) -> None:
    """A bill that is paid moves its amount from the payer to the payee, who then holds it."""
    async with open_checkout(chains) as (payer, below, bill):
        before = await payer.read_holding(bill.address, bill.asset)
        tx_id = await payer.settle(bill)
        assert {below.address: -AMOUNT, bill.address: AMOUNT} == await payer.read_credits(tx_id, bill.asset)
        assert before + AMOUNT == await payer.read_holding(bill.address, bill.asset)


async def test_memo_stands_where_the_profile_binds_it(chains: tuple[str, Chains]) -> None:
    """The memo is Algorand's note, a Solana memo instruction, or the hash in Base's authorization log."""
    async with open_checkout(chains) as (payer, below, bill):
        tx_id = await payer.settle(bill.with_changes(memo=MEMO + chains[0]))
        assert (MEMO + chains[0]).encode() == await read_memo(chains[0], below, tx_id)


async def test_a_host_of_payers_sees_the_memo_in_every_way_of_the_lane(chains: tuple[str, Chains]) -> None:
    """And no other memo; a transaction that the chain does not know carries none."""
    async with open_checkout(chains) as (payer, below, bill):
        host = open_payer_host(below)
        for place, way in enumerate(MEMO_WAYS[chains[0]]):
            tx_id = await payer.settle(bill.with_changes(memo=f"{MEMO}{place}"), way)
            assert await host.carries_memo(bill.asset, tx_id, f"{MEMO}{place}")
            assert not await host.carries_memo(bill.asset, tx_id, MEMO)
        unknown = tx_id[:-6] + ("A" * 6 if chains[0] == "algorand" else "1" * 6)
        assert not await host.carries_memo(bill.asset, unknown, MEMO)


async def read_memo(lane: str, below: Any, tx_id: str) -> bytes:
    if lane == "algorand":
        return base64.b64decode((await below.info(tx_id))["txn"]["txn"]["note"])
    if lane == "base":
        topics = [bytes(one) for log in (await below.node.wait_for_block(tx_id))["logs"] for one in log["topics"]]
        return (MEMO + lane).encode() if bytes(keccak((MEMO + lane).encode())) in topics else b""
    transaction_request = below.node.client.get_transaction(Signature.from_string(tx_id), "base64", Confirmed, 0)
    message = (await transaction_request).value.transaction.transaction.message
    keys = message.account_keys
    return b"".join(one.data for one in message.instructions if str(keys[one.program_id_index]).startswith("Memo"))


async def test_ways_without_the_memo_pay_the_whole_amount(chains: tuple[str, Chains]) -> None:
    """Whatever is wrong with the memo, address and amount are right, so only the memo can tell it."""
    async with open_checkout(chains) as (payer, _, bill):
        for way in payer.list_unbound_payments():
            assert (await read_credited(payer, way, bill))[0] == AMOUNT, way.name


async def test_texts_are_respelled_by_both_ways_of_base(chains: tuple[str, Chains]) -> None:
    """What is not the memo is tried where a lane's other way has it, too, and a cut one without any binding."""
    async with open_checkout(chains) as (payer, _, _bill):
        spellings_by_lane = {
            way.name: way.needs_pinned_binding
            for way in payer.list_unbound_payments()
            if way.name.endswith(", as calldata")
        }
        assert bool(spellings_by_lane) == (chains[0] == "base")
        assert [what for what, pinned in spellings_by_lane.items() if not pinned] == [
            f"the memo without its last letter, as {way}" for way in MEMO_WAYS[chains[0]][1:]
        ]


async def test_short_ways_bring_less_under_the_memo(chains: tuple[str, Chains]) -> None:
    """No short way leaves the payee with the amount, unless a part of it stands without the memo."""
    async with open_checkout(chains) as (payer, _, bill):
        for way in payer.list_short_payments():
            amount, _ = await read_credited(payer, way, bill)
            assert amount < AMOUNT or "without" in way.name, way.name


async def test_what_is_sent_as_one_with_a_payment_is_known_by_it(chains: tuple[str, Chains]) -> None:
    """Each part of a group is on the chain, and what of it reaches the payee is reported; others are separate."""
    async with open_checkout(chains) as (payer, _, bill):
        for place, way in enumerate((*payer.list_unbound_payments(), *payer.list_short_payments())):
            tx_id = await way.pay(bill.with_changes(memo=f"{MEMO}{place}"))
            parts = payer.list_group(tx_id)
            assert tx_id in parts, way.name
            assert len(parts) == (2 if "group" in way.name else 1), way.name
            received_amounts = [(await payer.read_credits(one, bill.asset)).get(bill.address, 0) for one in parts]
            assert sum(received_amounts) == AMOUNT + 1 or "one unit with the memo" not in way.name, way.name


async def test_strayed_ways_bring_the_payee_nothing_under_the_memo(chains: tuple[str, Chains]) -> None:
    """What stays with the payer is not the payee's; what he gets beside it stands without the memo, or is a unit."""
    async with open_checkout(chains) as (payer, _, bill):
        for way in payer.list_stray_payments():
            amount, _ = await read_credited(payer, way, bill)
            assert amount <= 1 or "without" in way.name, way.name


async def test_other_assets_bring_nothing_of_the_right_one(chains: tuple[str, Chains]) -> None:
    """A payment in another asset leaves the payee's holding of the right one as it was."""
    async with open_checkout(chains) as (payer, _, other_asset_bill):
        # A page may write an EVM address in lower case.
        bill = (
            other_asset_bill.with_changes(address=other_asset_bill.address.lower())
            if chains[0] == "base"
            else other_asset_bill
        )
        ways = await payer.list_other_assets(bill)
        assert len(ways) > 1
        for way in ways:
            assert (await read_credited(payer, way, bill))[0] == 0, way.name


async def test_failing_ways_bring_nothing(chains: tuple[str, Chains]) -> None:
    """A transaction that is refused or fails leaves everything as it was."""
    async with open_checkout(chains) as (payer, _, bill):
        for way in payer.list_failing_payments():
            assert (await read_credited(payer, way, bill))[0] == 0, way.name


async def test_one_transfer_under_two_memos(chains: tuple[str, Chains]) -> None:
    """Where a transaction can carry two memos, the amount moves once; Base has no such thing and says so."""
    async with open_checkout(chains) as (payer, _, bill):
        if chains[0] == "base":
            with pytest.raises(Inconclusive, match="one memo"):
                await payer.settle_with_memos(bill, [MEMO, MEMO + "2"])
            return
        await payer.settle_with_memos(bill, [MEMO, MEMO + "2"])
        assert AMOUNT <= await payer.read_holding(bill.address, bill.asset) <= AMOUNT + 1


async def test_a_bill_is_paid_twice(chains: tuple[str, Chains]) -> None:
    """A second payment under one memo is another transaction that brings the amount again, by each way of the lane."""
    async with open_checkout(chains) as (payer, _, twice_bill):
        for way in MEMO_WAYS[chains[0]]:
            bill = twice_bill.with_changes(memo=f"{MEMO[:12]}twice{way}")
            before = await payer.read_holding(bill.address, bill.asset)
            first, second = await payer.settle(bill, way), await payer.settle_again(bill, way)
            assert first != second
            assert await payer.read_holding(bill.address, bill.asset) == before + 2 * AMOUNT


async def test_two_bills_are_paid_in_one_transaction_on_base(chains: tuple[str, Chains]) -> None:
    """Each of them by the authorization of its memo, so that both amounts reach the payee by one transaction's logs."""
    async with open_checkout(chains) as (payer, below, bill):
        if not isinstance(payer, BaseCheckout):
            return
        both_bills = [bill.with_changes(memo=f"{MEMO[:12]}together{place}") for place in range(2)]
        tx_id = await payer.settle_together(both_bills)
        assert (await payer.read_credits(tx_id, bill.asset))[bill.address] == 2 * AMOUNT
        topics = [bytes(one) for log in (await below.node.wait_for_block(tx_id))["logs"] for one in log["topics"]]
        assert all(bytes(keccak(one.memo.encode())) in topics for one in both_bills)


async def test_unknown_way_to_bind_is_named(chains: tuple[str, Chains]) -> None:
    """A way that the suite does not know decides nothing, and the sentence lists those that it knows."""
    async with open_checkout(chains) as (payer, _, bill):
        with pytest.raises(Inconclusive, match="it knows"):
            await payer.settle(bill, "pigeon")


async def test_submitted_payment_lands(chains: tuple[str, Chains]) -> None:
    """A payment can be handed to the node first and waited for afterwards."""
    async with open_checkout(chains) as (payer, _, bill):
        tx_id = await payer.submit(bill.with_changes(memo=MEMO + "later"))
        await payer.wait_for_success(tx_id)
        assert await payer.read_holding(bill.address, bill.asset) >= AMOUNT


async def read_credited(payer: CheckoutPayer, way: WrongPayment, bill: CheckoutRequest) -> tuple[int, str]:
    """What a way brings the payee of the bill's asset, each with a memo of its own."""
    own = bill.with_changes(memo=f"{MEMO[:12]}{abs(hash(way.name)):020d}")
    before = await payer.read_holding(bill.address, bill.asset)
    tx_id = await way.pay(own)
    return await payer.read_holding(bill.address, bill.asset) - before, tx_id
