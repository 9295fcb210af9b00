"""The Algorand payer against a node in a process of its own, with and without control verbs."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from algosdk import account, mnemonic
from algosdk.v2client.algod import AlgodClient

from conformance.http.client import Names
from conformance.lanes.algorand.node import AlgorandNode
from conformance.lanes.algorand.payer import AlgorandPayer, Refused
from conformance.lanes.algorand.transaction_ids import invented_id, spellings
from conformance.outcome import Inconclusive
from conformance.target import Budgets, Secret
from conformance.target.lanes.algorand import AlgorandChain
from tests import prepared
from tests.algorand_signing import opt_in
from tests.reserved_port import reserved_port

USDC = 31566704
TOKEN = "1767225600:0011223344556677:" + "ab" * 32
LIMIT = "50000000"
BUDGETS = Budgets(confirmation=120.0, request=120.0)


@dataclass(frozen=True)
class Node:
    url: str
    token_file: Path

    @property
    def algod(self) -> AlgodClient:
        return AlgodClient(self.token_file.read_text(), self.url)

    def chain(self, **members: Any) -> AlgorandChain:
        return AlgorandChain(algod=self.url, token=Secret(file=self.token_file), **members)

    def with_control(self) -> AlgorandChain:
        return self.chain(control=f"{self.url}/control")

    def transaction(self, tx_id: str) -> dict[str, Any]:
        pending_info: Any = self.algod.pending_transaction_info(tx_id)
        fields: dict[str, Any] = pending_info["txn"]["txn"]
        return fields


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A simulated node with blocks every 20 ms."""
    words = ["--algod-port", "0", "--indexer-port", "0", "--block-seconds", "0.02"]
    with prepared.run_ready("sim.algorand", *words) as ready:
        token_file = tmp_path_factory.mktemp("node") / "token"
        token_file.write_text(ready["token"])
        yield Node(ready["algod"], token_file)


@asynccontextmanager
async def open_payer(chain: AlgorandChain, names: Names | None = None) -> AsyncIterator[AlgorandPayer]:
    payer = await AlgorandPayer.open(chain, BUDGETS, names or Names())
    try:
        yield payer
    finally:
        await payer.close()


async def payee(payer: AlgorandPayer) -> str:
    return (await payer.new_account(assets=[USDC])).address


def entry(pay_to: str, **changes: Any) -> dict[str, Any]:
    terms = {"asset": str(USDC), "payTo": pay_to, "maxAmountRequired": "10000", "extra": {"payment_reference": TOKEN}}
    return {**terms, **changes}


async def test_a_payment_is_welded_by_its_note_and_final_when_it_returns(node: Node) -> None:
    """`pay` sends exactly the entry's terms with the token's bytes as the note, and returns once it is in a block."""
    async with open_payer(node.with_control()) as payer:
        receiver = await payee(payer)
        proof = await payer.pay(entry(receiver))
        transaction_info = node.transaction(proof["tx_id"])
        assert proof.keys() == {"tx_id", "payment_reference"}
        assert proof["payment_reference"] == TOKEN
        assert (
            transaction_info["type"],
            transaction_info["xaid"],
            transaction_info["aamt"],
            transaction_info["arcv"],
        ) == ("axfer", USDC, 10000, receiver)
        assert base64.b64decode(transaction_info["note"]) == TOKEN.encode()
        assert "lx" not in transaction_info
        assert await payer.balance(receiver, USDC) == 10000


async def test_fifty_payments_at_once_are_fifty_transactions(node: Node) -> None:
    """Equal payments sent at the same time, even without a note, get ids of their own and all arrive."""
    async with open_payer(node.with_control()) as payer:
        receiver = await payee(payer)
        transfers = [payer.transfer(asset=USDC, receiver=receiver, amount=7) for _ in range(25)]
        transfers += [payer.transfer(asset=USDC, receiver=receiver, amount=7, note=TOKEN.encode()) for _ in range(25)]
        ids = await asyncio.gather(*transfers)
        assert len(set(ids)) == 50
        assert await payer.balance(receiver, USDC) == 350


async def test_an_operator_without_control_verbs_pays_from_an_account_and_gets_the_rest_back(node: Node) -> None:
    """The funder's account only ever funds; what the throw-away accounts did not spend is back at the end."""
    key, address = account.generate_account()
    words = mnemonic.from_private_key(key)
    secret = node.token_file.with_name("funder")
    secret.write_text(words)
    names = Names()
    async with open_payer(node.with_control()) as rich:
        await rich.control("fund", address=address, amount="10000000")
        opt_in(node.algod, key, USDC)
        await rich.control("mint", address=address, amount="5000000")
        receiver = await payee(rich)
        async with open_payer(node.chain(funder=Secret(file=secret), spending_limit=LIMIT), names) as payer:
            assert payer.address != address
            assert not payer.has_control
            await asyncio.gather(*(payer.pay(entry(receiver)) for _ in range(3)))
            with pytest.raises(Inconclusive, match="no control verbs"):
                await payer.control("fund", address=address, amount="1")
        assert await rich.balance(receiver, USDC) == 30_000
        assert await rich.balance(address, USDC) == 5_000_000 - 30_000
        info: Any = node.algod.account_info(address)
        assert info["amount"] > 9_900_000
    assert words not in names.redact(f"the words are {words}")


async def test_no_payment_goes_beyond_the_spending_limit(node: Node) -> None:
    """What the limit leaves over is too little for one more payment, which is not made, for that reason."""
    key, address = account.generate_account()
    secret = node.token_file.with_name("limited")
    secret.write_text(mnemonic.from_private_key(key))
    async with open_payer(node.with_control()) as rich:
        await rich.control("fund", address=address, amount="10000000")
        opt_in(node.algod, key, USDC)
        await rich.control("mint", address=address, amount="5000000")
        receiver = await payee(rich)
        async with open_payer(node.chain(funder=Secret(file=secret), spending_limit="10001")) as payer:
            await payer.pay(entry(receiver))
            with pytest.raises(Inconclusive, match="spending_limit is 10001 atomic units"):
                await payer.pay(entry(receiver))
        assert await rich.balance(receiver, USDC) == 10_000


async def test_a_funder_who_cannot_give_is_a_reason_not_a_fault(node: Node) -> None:
    """A poor funder and words that are no mnemonic make rows inconclusive, with a sentence without the words."""
    key, _ = account.generate_account()
    secret = node.token_file.with_name("poor")
    secret.write_text(mnemonic.from_private_key(key))
    with pytest.raises(Inconclusive, match="cannot give 3000000 microAlgos"):
        await AlgorandPayer.open(node.chain(funder=Secret(file=secret), spending_limit=LIMIT), BUDGETS, Names())
    secret.write_text("these are no words of a mnemonic")
    with pytest.raises(Inconclusive, match="not an Algorand mnemonic") as error:
        await AlgorandPayer.open(node.chain(funder=Secret(file=secret), spending_limit=LIMIT), BUDGETS, Names())
    assert "these are" not in str(error.value)
    with pytest.raises(Inconclusive, match="neither control nor funder"):
        await AlgorandPayer.open(node.chain(), BUDGETS, Names())


async def test_node_trouble_is_inconclusive_with_a_sentence(node: Node, tmp_path: Path) -> None:
    """A wrong token, a closed port, a missing secret and a node that hangs up are each distinguished."""
    wrong = tmp_path / "token"
    wrong.write_text("b" * 64)
    chain = AlgorandChain(algod=node.url, token=Secret(file=wrong), control=f"{node.url}/control")
    with pytest.raises(Inconclusive, match="answered 401"):
        await AlgorandPayer.open(chain, BUDGETS, Names())
    with reserved_port() as port:
        closed_url = f"http://127.0.0.1:{port}"
        with pytest.raises(Inconclusive, match="could not be asked"):
            await AlgorandPayer.open(AlgorandChain(algod=closed_url, control=closed_url), BUDGETS, Names())
    chain_without_token = AlgorandChain(algod=node.url, token=Secret(file=tmp_path / "none"))
    with pytest.raises(Inconclusive, match="cannot read"):
        await AlgorandPayer.open(chain_without_token, BUDGETS, Names())


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{oops",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n",
        b"not HTTP at all\r\n\r\n",
        b"",
    ],
)
async def test_an_answer_that_no_node_gives_is_inconclusive(answer: bytes) -> None:
    """Whatever listens at the node's address, the payer never faults."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        asked_node = AlgorandNode(
            AlgorandChain(algod=url, control=url), Budgets(request=5.0, confirmation=0.1), Names()
        )
        try:
            for question in (
                asked_node.params,
                asked_node.block_time,
                lambda: asked_node.control.carry_out("fund"),
                lambda: asked_node.wait_for_block("A" * 52),
            ):
                with pytest.raises(Inconclusive):
                    await question()
        finally:
            await asked_node.close()


async def test_what_the_node_refuses_is_told_apart_from_trouble(node: Node) -> None:
    """An impossible transfer raises `Refused` with the node's reason, and the payer can still pay afterwards."""
    async with open_payer(node.with_control()) as payer:
        receiver = await payee(payer)
        with pytest.raises(Refused, match="underflow"):
            await payer.transfer(asset=USDC, receiver=receiver, amount=2**62)
        with pytest.raises(Refused, match="must optin"):
            await payer.transfer(asset=USDC, receiver=(await payer.new_account()).address, amount=1)
        await payer.pay(entry(receiver))
        assert await payer.balance(receiver, USDC) == 10000


@pytest.mark.parametrize(
    "changes",
    [
        {"asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"},
        {"asset": str(2**70)},
        {"payTo": "A" * 58},
        {"payTo": None},
        {"maxAmountRequired": "1e4"},
        {"maxAmountRequired": str(2**64)},
        {"extra": None},
        {"extra": {"payment_reference": ""}},
        {"extra": {"payment_reference": "x" * 1025}},
    ],
)
async def test_terms_that_cannot_be_paid_are_inconclusive(node: Node, changes: dict[str, Any]) -> None:
    """A challenge entry that cannot be paid never faults the suite."""
    async with open_payer(node.with_control()) as payer:
        with pytest.raises(Inconclusive):
            await payer.pay(entry(payer.address, **changes))


async def test_close_outs_and_rekeys_leave_the_paying_account_whole(node: Node) -> None:
    """Attacks that empty or hand over an account run on one of their own; the next payment still goes through."""
    async with open_payer(node.with_control()) as payer:
        receiver = await payee(payer)
        closing_id = await payer.transfer(asset=USDC, receiver=receiver, amount=5, close_to=receiver)
        rekeying_id = await payer.transfer(asset=USDC, receiver=receiver, amount=5, rekey_to=receiver)
        assert node.transaction(closing_id)["aclose"] == receiver
        assert node.transaction(rekeying_id)["rekey"] == receiver
        assert payer.address not in {node.transaction(one)["snd"] for one in (closing_id, rekeying_id)}
        await payer.pay(entry(receiver))


async def test_a_look_alike_asset_can_be_made_moved_and_clawed_back(node: Node) -> None:
    """`create_asset` gives an asset of the same unit name that the payer may send and claw back."""
    async with open_payer(node.with_control()) as payer:
        fake = await payer.create_asset(unit_name="USDC", decimals=6)
        victim = await payer.new_account(assets=[fake])
        await payer.transfer(asset=fake, receiver=victim.address, amount=9)
        clawback_id = await payer.transfer(asset=fake, receiver=payer.address, amount=4, clawback_target=victim.address)
        assert fake != USDC
        assert node.transaction(clawback_id)["asnd"] == victim.address
        assert await payer.balance(victim.address, fake) == 5


async def test_native_coin_first_valid_and_unwaited_submission_go_out_as_asked(node: Node) -> None:
    """The attack parameters reach the wire: Algos, an older first-valid round, and no wait for the block."""
    async with open_payer(node.with_control()) as payer:
        receiver = await payee(payer)
        native = node.transaction(await payer.send_native(receiver, 1234, b"note"))
        assert (native["type"], native["amt"]) == ("pay", 1234)
        first = (await payer.params()).first - 1
        tx_id = await payer.transfer(asset=USDC, receiver=receiver, amount=1, first_valid=first, wait=False)
        assert await payer.wait_for_block(tx_id) > first
        assert node.transaction(tx_id)["fv"] == first


async def test_block_time_and_names_of_the_network_come_from_the_node(node: Node) -> None:
    """The newest block's time moves with the node's clock; the CAIP-2 name is cut from the genesis hash."""
    async with open_payer(node.with_control()) as payer:
        before = await payer.block_time()
        await payer.control("advance", seconds=100)
        assert await payer.block_time() >= before + 100
        network_name = str((await payer.params()).gh).replace("+", "-").replace("/", "_")[:32]
        assert payer.caip2 == f"algorand:{network_name}"
        assert payer.network_key == "algorand_mainnet"
        assert "withhold" in await payer.fault_names()


async def test_nothing_secret_or_live_of_a_payment_survives_redaction(node: Node) -> None:
    """API token, private key and transaction id are known to the redaction table from the moment they exist."""
    names = Names()
    async with open_payer(node.with_control(), names) as payer:
        tx_id = await payer.transfer(asset=USDC, receiver=payer.address, amount=0)
        text = names.redact(f"token={node.token_file.read_text()} key={payer.main.key} id {tx_id}")
        assert text == "token=$ALGOD_TOKEN key=$PAYER_KEY id $TX_ID"
        assert payer.main.key not in repr(payer.main)


async def test_other_spellings_of_an_id_decode_to_the_same_bytes() -> None:
    """Each spelling differs in text only; the control is that an invented id is another id."""
    tx_id = invented_id(bytes(range(32)))
    other_spellings = spellings(tx_id)
    decoded_ids = {base64.b32decode(text + "====") for text in other_spellings}
    assert tx_id not in other_spellings
    assert len(set(other_spellings)) == 3
    assert decoded_ids == {bytes(range(32))}
    assert base64.b32decode(invented_id() + "====") != bytes(range(32))
