"""The Solana payer against a node in a process of its own, with and without control verbs."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import base58
import httpx
import pytest
from solana.rpc.commitment import Confirmed
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from conformance.http.client import Names
from conformance.lanes.payers import open_payer
from conformance.lanes.solana.instructions import TokenTransfer, associated_account, hand_over
from conformance.lanes.solana.node import CONFIRMED
from conformance.lanes.solana.payer import Order, Refused, SolanaPayer, UnknownBlockhash
from conformance.lanes.solana.relay_program import call_through
from conformance.lanes.solana.transaction_ids import invented_id, spellings
from conformance.lanes.spending import Wallet
from conformance.outcome import Inconclusive
from conformance.target import Budgets, Chains, Profile, Secret
from conformance.target.lanes.solana import SolanaChain
from tests import prepared
from tests.reserved_port import reserved_port

USDC = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
TOKEN = "1767225600:0011223344556677:a09b8bbc7b366385e78e577f66a953775dce4472ed6f732572ad6ab56172b995"
REFERENCE = "FsFR6sRtNSjtXvNCBdTRaDaoWd4jVBysLeRHVHi57ZBs"
PRICE = 10_000
LIMIT = "50000000"
BUDGETS = Budgets(confirmation=120.0, request=120.0)


@pytest.fixture(scope="module")
def node() -> Iterator[str]:
    """A simulated node with slots every 5 ms, so that a payment is final after 160 ms; its address."""
    with prepared.run_ready("sim.solana", "--port", "0", "--ws-port", "0", "--slot-seconds", "0.005") as ready:
        yield str(ready["rpc"])


@asynccontextmanager
async def pay_with(url: str, names: Names | None = None, **members: Any) -> AsyncIterator[SolanaPayer]:
    chain = SolanaChain(rpc=url, **(members or {"control": f"{url}/control"}))
    payer = await SolanaPayer.open(chain, BUDGETS, names or Names(), wallet=Wallet(main_network=True))
    try:
        yield payer
    finally:
        await payer.close()


def entry(**changes: Any) -> dict[str, Any]:
    """An `accepts` entry of a payee who was never paid."""
    extra = {"payment_reference": TOKEN, "svm_reference_pubkey": REFERENCE, "decimals": 6}
    terms = {"asset": USDC, "payTo": str(Keypair().pubkey()), "maxAmountRequired": str(PRICE), "extra": extra}
    return {"network": "solana:x", **terms, **changes}


def order(**changes: Any) -> Order:
    return Order.of(entry(**changes))


async def read_transaction(payer: SolanaPayer, tx_id: str) -> VersionedTransaction:
    """What the node has of a transaction, decoded by the SDK."""
    transaction_request = payer.node.client.get_transaction(
        Signature.from_string(tx_id), "base64", Confirmed, max_supported_transaction_version=0
    )
    transaction = (await transaction_request).value
    assert transaction is not None
    transfer = transaction.transaction.transaction
    assert isinstance(transfer, VersionedTransaction)
    return transfer


async def read_received(payer: SolanaPayer, order: Order) -> int:
    return await payer.balance(order.payee, order.mint)


async def test_pay_moves_the_price_and_names_the_reference_in_the_transfer(node: str) -> None:
    """`pay` ends finalized: the payee has the price, and the reference follows the owner, read-only, not signing."""
    async with pay_with(node) as payer:
        terms = entry()
        proof = await payer.pay(terms)
        order = Order.of(terms)
        assert proof == {"tx_id": proof["tx_id"], "payment_reference": TOKEN}
        status = await payer.node.status(proof["tx_id"])
        assert status is not None
        assert "Finalized" in str(status.confirmation_status)
        assert await read_received(payer, order) == PRICE
        message = (await read_transaction(payer, proof["tx_id"])).message
        assert isinstance(message, MessageV0)
        transfer = message.instructions[-1]
        keys = [message.account_keys[place] for place in transfer.accounts]
        assert bytes(transfer.data) == b"\x0c" + PRICE.to_bytes(8, "little") + b"\x06"
        assert keys == [
            associated_account(payer.main.key, order.mint),
            order.mint,
            order.destination,
            payer.main.key,
            Pubkey.from_string(REFERENCE),
        ]
        last = transfer.accounts[-1]
        assert not message.is_signer(last)
        assert not message.is_maybe_writable(last)


async def test_many_equal_payments_at_once_are_many_transactions(node: str) -> None:
    """Twenty payments of one entry at once have twenty ids and move twenty prices."""
    async with pay_with(node) as payer:
        terms = entry()
        proofs = await asyncio.gather(*(payer.pay(terms) for _ in range(20)))
        assert len({proof["tx_id"] for proof in proofs}) == 20
        assert await read_received(payer, Order.of(terms)) == 20 * PRICE


async def test_the_forms_that_checks_need(node: str) -> None:
    """Legacy and versioned, checked and unchecked, over-paid, written reference: all are real payments."""
    async with pay_with(node) as payer:
        wanted_order = order()
        legacy = await payer.send([(await payer.transfer(wanted_order)).instruction()], legacy=True, wait=CONFIRMED)
        assert isinstance((await read_transaction(payer, legacy)).message, Message)
        plain = await payer.transfer(wanted_order, decimals=None, writable=True, amount=PRICE + 1)
        tx_id = await payer.send([plain.instruction()], wait=CONFIRMED)
        message = (await read_transaction(payer, tx_id)).message
        assert isinstance(message, MessageV0)
        used = message.instructions[0]
        assert bytes(used.data) == b"\x03" + (PRICE + 1).to_bytes(8, "little")
        assert message.is_maybe_writable(used.accounts[-1])
        assert await read_received(payer, wanted_order) == 2 * PRICE + 1


async def test_a_transfer_inside_a_program_call(node: str) -> None:
    """The relay carries a transfer out; the reference is an account of the transfer, or of the call around it only."""
    async with pay_with(node) as payer:
        wanted_order, relay = order(), await payer.relay()
        transfer = await payer.transfer(wanted_order)
        await payer.send([call_through(relay, transfer.instruction())], wait=CONFIRMED)
        assert await read_received(payer, wanted_order) == PRICE
        bare = (await payer.transfer(wanted_order, references=())).instruction()
        tx_id = await payer.send([call_through(relay, bare, outer_only=[wanted_order.reference])], wait=CONFIRMED)
        assert await read_received(payer, wanted_order) == 2 * PRICE
        message = (await read_transaction(payer, tx_id)).message
        assert [message.account_keys[one.program_id_index] for one in message.instructions] == [relay]
        assert wanted_order.reference in message.account_keys
        assert await payer.relay() == relay


async def test_a_token_account_is_emptied_and_handed_over_in_one_transaction(node: str) -> None:
    """After it the payee owns an account that has received the price and holds nothing."""
    async with pay_with(node) as payer:
        wanted_order, me = order(), payer.main.key
        bait = await payer.token_account(wanted_order.mint, me)
        transfer = await payer.transfer(wanted_order, destination=bait)
        back = transfer.with_changes(source=bait, destination=transfer.source)
        await payer.send(
            [transfer.instruction(), back.instruction(), hand_over(bait, me, wanted_order.payee)], wait=CONFIRMED
        )
        data = await payer.node.data(bait)
        assert data is not None
        assert data[32:64] == bytes(wanted_order.payee)
        assert await payer.read_holding(bait) == 0
        assert await read_received(payer, wanted_order) == 0


async def test_a_look_alike_token_is_held_by_the_payer(node: str) -> None:
    """`create_mint` makes a token of the same decimals that can be paid to the payee's account of that mint."""
    async with pay_with(node) as payer:
        wanted_order, fake = order(), await payer.create_mint()
        transfer = await payer.transfer(wanted_order, mint=fake)
        await payer.send([transfer.instruction()], wait=CONFIRMED)
        assert await payer.decimals(fake) == await payer.decimals(wanted_order.mint) == 6
        assert await payer.balance(wanted_order.payee, fake) == PRICE
        assert await read_received(payer, wanted_order) == 0


async def test_what_fails_is_refused_or_recorded_as_failed(node: str) -> None:
    """A transfer of what is not there is refused in preflight; without it, it is on the chain with its error."""
    async with pay_with(node) as payer:
        wanted_order, poor = order(), await payer.new_account()
        source = await payer.ensure_associated_account(poor.key, wanted_order.mint)
        transfer = (await payer.transfer(wanted_order, source=source, owner=poor.key)).instruction()
        with pytest.raises(Refused) as refusal:
            await payer.send([transfer], sender=poor)
        assert await payer.node.status(refusal.value.tx_id) is None
        with pytest.raises(Refused) as failure:
            await payer.send([transfer], sender=poor, skip_preflight=True)
        status = await payer.node.status(failure.value.tx_id)
        assert status is not None
        assert status.err is not None
        assert await read_received(payer, wanted_order) == 0


async def test_a_draft_has_its_id_before_it_is_sent(node: str) -> None:
    """The id of a signed transaction is known and unknown to the chain until it is submitted."""
    async with pay_with(node) as payer:
        wanted_order = order()
        draft = await payer.draft([(await payer.transfer(wanted_order)).instruction()])
        assert await payer.node.status(str(draft.signatures[0])) is None
        assert await payer.submit(draft, wait=CONFIRMED) == str(draft.signatures[0])
        assert await read_received(payer, wanted_order) == PRICE


def let_blockhashes_lapse(payer: SolanaPayer, monkeypatch: pytest.MonkeyPatch, times: int) -> list[Signature]:
    """Let the chain outlive a blockhash before each of the next `times` submissions; return a list of all that come."""
    client, submissions = payer.node.client, list[Signature]()
    send = client.send_transaction

    async def late(transaction: VersionedTransaction, *words: Any, **options: Any) -> Any:
        submissions.append(transaction.signatures[0])
        if len(submissions) <= times:
            async with httpx.AsyncClient(trust_env=False, timeout=120) as http:
                verb = {"verb": "advance", "blocks": 15_000}
                (await http.post(f"{payer.node.client._provider.endpoint_uri}/control", json=verb)).raise_for_status()
        return await send(transaction, *words, **options)

    monkeypatch.setattr(client, "send_transaction", late)
    return submissions


async def test_a_blockhash_that_lapsed_before_the_node_got_it_is_replaced(
    node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same transfer is signed again and lands once; the first transaction never does."""
    async with pay_with(node) as payer:
        wanted_order = order()
        transfer = await payer.transfer(wanted_order)
        submissions = let_blockhashes_lapse(payer, monkeypatch, 2)
        tx_id = await payer.send([transfer.instruction()])
        assert (len(submissions), len(set(submissions)), tx_id) == (3, 3, str(submissions[-1]))
        assert await read_received(payer, wanted_order) == PRICE
        assert [await payer.node.status(str(one)) for one in submissions[:2]] == [None, None]
        table = await payer.address_table([wanted_order.mint])
        assert list(table.addresses) == [wanted_order.mint]


async def test_an_address_table_and_the_operators_money_outlive_a_blockhash(
    node: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fills accounts and tables signs again, too, and the operator gives the money once."""
    pair, mint = Keypair(), Pubkey.from_string(USDC)
    key_file = tmp_path / "funder"
    key_file.write_text(pair.to_json())
    async with pay_with(node) as bank:
        await bank.control("fund", address=str(pair.pubkey()), amount=str(10**9))
        await bank.control("mint", address=str(pair.pubkey()), amount=str(2_000_000))
        async with pay_with(node, funder=Secret(file=key_file), spending_limit=LIMIT) as payer:
            submissions = let_blockhashes_lapse(payer, monkeypatch, 1)
            await payer.hold(mint, PRICE)
            assert len(submissions) == 2
            assert await bank.balance(pair.pubkey(), mint) == 1_000_000
            submissions = let_blockhashes_lapse(payer, monkeypatch, 1)
            await payer.address_table([mint])
            assert len(submissions) == 2


async def test_a_node_that_knows_no_blockhash_is_given_up(node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After five signatures the refusal is raised, and nothing was paid."""
    monkeypatch.setattr("conformance.lanes.solana.node._SUBMIT_AGAIN_SECONDS", (0, 0, 0, 0))
    async with pay_with(node) as payer:
        wanted_order = order()
        transfer = await payer.transfer(wanted_order)
        submissions = let_blockhashes_lapse(payer, monkeypatch, 100)
        with pytest.raises(UnknownBlockhash, match="BlockhashNotFound"):
            await payer.send([transfer.instruction()])
        assert len(submissions) == 5
        assert await read_received(payer, wanted_order) == 0


async def test_a_node_without_new_blockhashes_decides_nothing(node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same transfer can be signed once for each blockhash; without another one the attempt ends after a time."""
    async with pay_with(node) as payer:
        instructions = [(await payer.transfer(order())).instruction()]
        newest = await payer.node.client.get_latest_blockhash(Confirmed)

        async def the_same(*_: Any) -> Any:
            return newest

        monkeypatch.setattr(payer.node.client, "get_latest_blockhash", the_same)
        monkeypatch.setattr(payer.node, "_budgets", Budgets(confirmation=0.3))
        await payer.draft(instructions)
        with pytest.raises(Inconclusive, match=r"no new blockhash within 0\.3 s"):
            await payer.draft(instructions)


async def test_a_transaction_that_landed_although_it_was_refused_is_not_signed_again(
    node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy may repeat a request; what the node shows of the first transaction counts."""
    async with pay_with(node) as payer:
        wanted_order, submissions = order(), list[str]()
        transfer = await payer.transfer(wanted_order)
        submit = payer.node.submit

        async def twice(transaction: VersionedTransaction, **options: Any) -> str:
            submissions.append(await submit(transaction, **options))
            await payer.node.wait_for_success(submissions[-1])
            raise UnknownBlockhash("BlockhashNotFound", submissions[-1])

        monkeypatch.setattr(payer.node, "submit", twice)
        assert [await payer.send([transfer.instruction()])] == submissions
        assert await read_received(payer, wanted_order) == PRICE


async def test_a_node_that_is_behind_gets_the_same_bytes_again(node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blockhash that a node does not know yet is not replaced, since another node may have the transaction."""
    async with pay_with(node) as payer:
        wanted_order, submissions = order(), list[Signature]()
        transfer = await payer.transfer(wanted_order)
        submit = payer.node.submit

        async def behind(transaction: VersionedTransaction, **options: Any) -> str:
            submissions.append(transaction.signatures[0])
            if len(submissions) < 3:
                raise UnknownBlockhash("BlockhashNotFound", str(transaction.signatures[0]))
            return await submit(transaction, **options)

        monkeypatch.setattr("conformance.lanes.solana.node._SUBMIT_AGAIN_SECONDS", (0, 0, 0, 0))
        monkeypatch.setattr(payer.node, "submit", behind)
        tx_id = await payer.send([transfer.instruction()])
        assert [str(one) for one in submissions] == [tx_id] * 3
        assert await read_received(payer, wanted_order) == PRICE


async def test_an_operator_funds_the_payer_and_gets_the_rest_back(node: str, tmp_path: Path) -> None:
    """Without control verbs the funder's account pays, and at the end has all but prices, fees and rents again."""
    pair = Keypair()
    mint, wanted_order = Pubkey.from_string(USDC), order()
    key_file = tmp_path / "funder"
    key_file.write_text(pair.to_json())
    async with pay_with(node) as bank:
        await bank.control("fund", address=str(pair.pubkey()), amount=str(10**9))
        await bank.control("mint", address=str(pair.pubkey()), amount=str(2_000_000))
        async with pay_with(node, funder=Secret(file=key_file), spending_limit=LIMIT) as payer:
            transfer = await payer.transfer(wanted_order)
            await payer.send([transfer.instruction()])
            assert await bank.balance(pair.pubkey(), mint) < 2_000_000 - PRICE
        assert await read_received(bank, wanted_order) == PRICE
        assert await bank.balance(pair.pubkey(), mint) == 2_000_000 - PRICE
        # What stays away is the payee's account's rent and some fees.
        assert 10**9 - await bank.node.lamports(pair.pubkey()) < 2_200_000


@pytest.mark.parametrize("text", ["", "[1,2,3]", "abc", "[]", json.dumps([7] * 64)])
async def test_a_funder_that_is_no_key_pair(node: str, tmp_path: Path, text: str) -> None:
    """What is no key pair is said to be none, and is not repeated."""
    key_file = tmp_path / "funder"
    key_file.write_text(text)
    chain = SolanaChain(rpc=node, funder=Secret(file=key_file), spending_limit=LIMIT)
    with pytest.raises(Inconclusive, match="funder is not a key pair"):
        await SolanaPayer.open(chain, BUDGETS, Names())


async def test_without_funds_nothing_can_be_paid(node: str) -> None:
    """A profile with neither control nor funder, or without the lane's table, is inconclusive."""
    with pytest.raises(Inconclusive, match="neither control nor funder"):
        await SolanaPayer.open(SolanaChain(rpc=node), BUDGETS, Names())
    with pytest.raises(Inconclusive, match=r"no \[chains\.solana\] table"):
        await open_payer("solana", Profile(), Names())


async def test_a_payer_is_opened_by_its_lane(node: str) -> None:
    """`open_payer` gives the lane's payer; its keys and transaction ids show in no log."""
    names = Names()
    chains = Chains.model_validate({"solana": SolanaChain(rpc=node, control=f"{node}/control")})
    payer = await open_payer("solana", Profile(chains=chains, budgets=BUDGETS), names)
    try:
        assert isinstance(payer, SolanaPayer)
        proof = await payer.pay(entry())
        secret = str(payer.main.keypair)
        assert secret not in repr(payer.main)
        assert secret not in names.redact(f"key {secret}")
        assert proof["tx_id"] not in names.redact(f"sent {proof['tx_id']}")
        assert payer.caip2.startswith("solana:")
        assert await payer.block_time() > 1_700_000_000
    finally:
        await payer.close()


@pytest.mark.parametrize(
    "changes",
    [
        {"asset": "no mint"},
        {"payTo": None},
        {"maxAmountRequired": "1.5"},
        {"maxAmountRequired": str(2**64)},
        {"extra": {"svm_reference_pubkey": REFERENCE}},
        {"extra": {"payment_reference": TOKEN}},
        {"extra": None},
    ],
)
def test_an_entry_that_cannot_be_paid(changes: dict[str, Any]) -> None:
    """An entry without a price, an address, a token or a reference is inconclusive."""
    with pytest.raises(Inconclusive):
        order(**changes)


async def test_every_fault_of_the_node_is_inconclusive(node: str) -> None:
    """Whatever the node answers instead of an answer, the payer says so and nothing else is raised."""
    async with pay_with(node) as payer:
        names = [name for name in await payer.fault_names() if name not in {"hang", "slow"}]
        assert names
        payer.node._budgets = Budgets(confirmation=0.2, request=2.0)
        for name in set(names) - {"withhold", "reject_late", "early_finality"}:
            await payer.control("fault", name=name, seed=3, count=10_000)
            try:
                with pytest.raises(Inconclusive):
                    await payer.block_time()
                with pytest.raises(Inconclusive):
                    await payer.pay(entry())
            finally:
                await payer.control("fault", name=name, seed=3, count=0)
        payer.node._budgets = BUDGETS
        assert await payer.block_time()


async def test_a_node_that_is_away() -> None:
    """A port without a listener is inconclusive."""
    with reserved_port() as port:
        url = f"http://127.0.0.1:{port}"
        with pytest.raises(Inconclusive):
            await SolanaPayer.open(SolanaChain(rpc=url, control=f"{url}/control"), BUDGETS, Names())


async def test_an_error_without_data_breaks_the_parser_and_nothing_else() -> None:
    """The SDK panics on such an answer; the payer calls it inconclusive all the same."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"jsonrpc":"2.0","error":{"code":-32002,"message":"no data"},"id":0}'
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n")
        writer.write(b"content-length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        with pytest.raises(Inconclusive, match="broke its parser"):
            await SolanaPayer.open(SolanaChain(rpc=url, control=f"{url}/control"), BUDGETS, Names())


def test_ids_and_their_spellings() -> None:
    """An invented id is 64 bytes in base58; a lax reader may take the other spellings for it."""
    tx_id = invented_id(bytes(range(64)))
    assert base58.b58decode(tx_id) == bytes(range(64))
    assert invented_id() != invented_id()
    assert len({tx_id, *spellings(tx_id)}) == 5
    assert all(tx_id in one for one in spellings(tx_id))


def test_a_changed_transfer_is_another_instruction() -> None:
    """`changed` leaves the rest as it is."""
    keys = [Keypair().pubkey() for _ in range(5)]
    transfer = TokenTransfer(keys[0], keys[1], keys[2], keys[3], 7, 6, (keys[4],))
    other_transfer = transfer.with_changes(amount=8).instruction()
    assert other_transfer.accounts == transfer.instruction().accounts
    assert other_transfer.data != transfer.instruction().data


async def test_no_payment_goes_beyond_the_spending_limit(node: str, tmp_path: Path) -> None:
    """What the limit leaves over is too little for one more payment, which is not made, for that reason."""
    pair, key_file = Keypair(), tmp_path / "funder"
    key_file.write_text(pair.to_json())
    async with pay_with(node) as bank:
        await bank.control("fund", address=str(pair.pubkey()), amount=str(10**9))
        await bank.control("mint", address=str(pair.pubkey()), amount=str(100 * PRICE))
        limit = str(PRICE + 1)
        async with pay_with(node, funder=Secret(file=key_file), spending_limit=limit) as payer:
            assert (await payer.pay(entry()))["tx_id"]
            with pytest.raises(Inconclusive, match=rf"spending_limit is {limit} atomic units"):
                await payer.pay(entry())


async def test_an_account_pays_in_usdc_only(node: str, tmp_path: Path) -> None:
    """Another token that it holds stays where it is, whatever decimals it has."""
    pair, key_file = Keypair(), tmp_path / "funder"
    key_file.write_text(pair.to_json())
    async with pay_with(node) as bank:
        await bank.control("fund", address=str(pair.pubkey()), amount=str(10**9))
        await bank.control("mint", address=str(pair.pubkey()), amount=str(100 * PRICE))
        other_mint = await bank.create_mint(decimals=8)
        place = await bank.ensure_associated_account(pair.pubkey(), other_mint)
        signature = await bank.transfer(order(asset=str(other_mint)), destination=place)
        await bank.send([signature.instruction()])
        assert await bank.balance(pair.pubkey(), other_mint) == PRICE
        async with pay_with(node, funder=Secret(file=key_file), spending_limit=LIMIT) as payer:
            with pytest.raises(Inconclusive, match="is not USDC of solana_mainnet"):
                await payer.pay(entry(asset=str(other_mint)))
        assert await bank.balance(pair.pubkey(), other_mint) == PRICE
        assert await bank.balance(pair.pubkey(), Pubkey.from_string(USDC)) == 100 * PRICE


async def test_a_question_ends_with_the_payer(node: str) -> None:
    """Who is interrupted while it waits for a status leaves nothing that fails once the connection is closed."""
    unheard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
    async with pay_with(node) as payer:
        waiting_task = asyncio.create_task(payer.node.wait_for_level(str(Signature.new_unique())))
        await asyncio.sleep(0.01)
        waiting_task.cancel()
    await asyncio.sleep(0.2)
    gc.collect()
    assert unheard == []
