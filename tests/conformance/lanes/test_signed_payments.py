"""Payments that are signed before they are sent: their fate on the chain, and money that a later process returns.

Each lane's node is a simulated one in a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from algosdk import account, mnemonic
from algosdk.v2client.algod import AlgodClient
from eth_account import Account
from solders.keypair import Keypair

from conformance.http.client import Names
from conformance.lanes.checkout_request import CheckoutRequest
from conformance.lanes.payers import open_checkout_payer, open_sender, take_back
from conformance.lanes.registry import LANES
from conformance.lanes.signed_payment import Fate, Landing, NotAPayment, NotTaken, OutdatedPayment, SignedPayment, land
from conformance.lanes.spending import Wallet
from conformance.outcome import Inconclusive
from conformance.target import Budgets, Chain, Secret
from conformance.target.lanes.algorand import AlgorandChain
from conformance.target.lanes.base import BaseChain
from conformance.target.lanes.solana import SolanaChain
from conformance.vocabulary.lanes.registry import FACTS
from tests import prepared
from tests.algorand_signing import opt_in

BUDGETS = Budgets(confirmation=120.0, request=120.0)
LABEL = "ab" * 16
PRICE = 10_000
TOKENS = {
    "algorand": "1767225600:0011223344556677:" + "ab" * 32,
    "base": "1767225600:0011223344556677:810b7a167fcae78f8f725677312b195896cc6782690363a2edebdc2642bf33b5",
    "solana": "1767225600:0011223344556677:a09b8bbc7b366385e78e577f66a953775dce4472ed6f732572ad6ab56172b995",
}
REFERENCE = "FsFR6sRtNSjtXvNCBdTRaDaoWd4jVBysLeRHVHi57ZBs"
SIMULATORS = {
    "algorand": ["sim.algorand", "--algod-port", "0", "--indexer-port", "0", "--block-seconds", "0.02"],
    "base": ["sim.base", "--port", "0", "--block-seconds", "0.02"],
    "solana": ["sim.solana", "--port", "0", "--ws-port", "0", "--slot-seconds", "0.005"],
}


@dataclass(frozen=True)
class Node:
    """A simulated node of a lane."""

    lane: str
    url: str
    members: dict[str, Any]

    def chain(self, **members: Any) -> Chain:
        """Return its table of a profile, by control verbs unless a funder is given."""
        kinds: dict[str, Any] = {"algorand": AlgorandChain, "base": BaseChain, "solana": SolanaChain}
        landing: Chain = kinds[self.lane](**self.members, **(members or {"control": f"{self.url}/control"}))
        return landing

    def control(self, **members: Any) -> dict[str, Any]:
        """Carry out a control verb."""
        request = urllib.request.Request(
            f"{self.url}/control", json.dumps(members).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            landing: dict[str, Any] = json.load(answer)
        assert landing["ok"], landing
        return landing

    @property
    def usdc(self) -> str:
        """The lane's asset."""
        return FACTS[self.lane].main.asset_id

    async def payer(self, wallet: Wallet | None = None, **members: Any) -> Any:
        """Open a payer."""
        means = LANES[self.lane].means()
        return await means.payer(self.chain(**members), BUDGETS, Names(), wallet or Wallet(main_network=True))

    async def payee(self) -> str:
        """Return an address that may be paid and holds nothing."""
        secret, address = _new_account(self.lane)
        self.control(verb="fund", address=address, amount=str(10**9))
        if self.lane == "algorand":
            self.opt_in(secret)
        elif self.lane == "solana":
            self.control(verb="mint", address=address, amount="0", asset=self.usdc)
        return address

    def opt_in(self, words: str) -> None:
        """Opt the account of a mnemonic in to the asset."""
        token = self.members["token"].read()
        opt_in(AlgodClient(token, self.url), mnemonic.to_private_key(words), int(self.usdc))

    def entry(self, payee: str) -> dict[str, Any]:
        """Return an `accepts` entry."""
        extra = {"payment_reference": TOKENS[self.lane], "name": "USD Coin", "version": "2"}
        extra |= {"svm_reference_pubkey": REFERENCE} if self.lane == "solana" else {}
        terms = {"network": FACTS[self.lane].main.caip2, "asset": self.usdc, "payTo": payee, "extra": extra}
        return {**terms, "maxAmountRequired": str(PRICE), "maxTimeoutSeconds": 1800}


def _new_account(lane: str) -> tuple[str, str]:
    """Return a secret, as a profile's funder has it, and its address."""
    if lane == "algorand":
        key, address = account.generate_account()
        return mnemonic.from_private_key(key), address
    if lane == "base":
        made = Account.create()
        return bytes(made.key).hex(), str(made.address)
    pair = Keypair()
    return str(pair), str(pair.pubkey())


@pytest.fixture(scope="module", params=SIMULATORS)
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node of each lane."""
    lane = request.param
    with prepared.run_ready(*SIMULATORS[lane]) as ready:
        if lane == "algorand":
            token = tmp_path_factory.mktemp("node") / "token"
            token.write_text(ready["token"])
            yield Node(lane, ready["algod"], {"algod": ready["algod"], "token": Secret(file=token)})
        else:
            yield Node(lane, ready["rpc"], {"rpc": ready["rpc"]})


async def read_balance(payer: Any, node: Node, address: str) -> int:
    """Return what an address holds of USDC."""
    return int(await open_checkout_payer(payer).read_holding(address, node.usdc))


async def test_a_transaction_is_stored_first_and_lands_once(node: Node) -> None:
    """Nothing moves by signing; sent twice it is one payment, and the chain shows its fate at each step."""
    payer, payee = await node.payer(), await node.payee()
    sender = open_sender(node.chain(), BUDGETS, Names())
    bill = CheckoutRequest(node.usdc, payee, PRICE, "service:token" + node.lane)
    is_entry = node.lane != "base"
    till: Any = open_checkout_payer(payer)
    payment: SignedPayment = await (payer.sign(node.entry(payee)) if is_entry else till.sign(bill))
    assert await read_balance(payer, node, payee) == 0
    assert await sender.fate(payment) is Fate.UNSEEN
    for _ in range(2):
        assert (await land(sender, payment, 100)).fate is Fate.LANDED
        await sender.send(payment) if node.lane != "solana" else None
    assert await read_balance(payer, node, payee) == PRICE
    assert await sender.transaction(payment) == payment.tx_id
    if is_entry:
        assert payment.proof == {"tx_id": payment.tx_id, "payment_reference": TOKENS[node.lane]}
    await sender.close()
    await payer.close()


async def test_what_is_stored_holds_no_key(node: Node) -> None:
    """Neither the signed payment nor its text shows the paying account's private key."""
    payer, payee = await node.payer(), await node.payee()
    payment = await payer.sign(node.entry(payee))
    key = payer.main.keypair.secret() if node.lane == "solana" else payer.main.key
    landing = repr(payment) + payment.transaction + json.dumps(dict(payment.proof))
    for text in (key, key.hex()) if isinstance(key, bytes) else (key,):
        assert str(text) not in landing
    await payer.close()


@pytest.mark.parametrize("changes", [{"tx_id": "A" * 52}, {"transaction": "00ff"}, {"payer": "another"}])
async def test_another_payment_than_it_says_is_never_sent(node: Node, changes: dict[str, Any]) -> None:
    """A file from elsewhere cannot have one transaction sent under the id of another."""
    payer, payee = await node.payer(), await node.payee()
    sender = open_sender(node.chain(), BUDGETS, Names())
    bill = CheckoutRequest(node.usdc, payee, PRICE, "service:token" + node.lane)
    till: Any = open_checkout_payer(payer)
    payment: SignedPayment = replace(await till.sign(bill), **changes)
    with pytest.raises(NotAPayment):
        await land(sender, payment, 5)
    assert await read_balance(payer, node, payee) == 0
    await sender.close()
    await payer.close()


async def test_a_payment_that_became_too_old_is_known_to_be_none(node: Node) -> None:
    """Only when its time is over and the account still holds the money, so that it can never happen any more."""
    payer, payee = await node.payer(), await node.payee()
    sender = open_sender(node.chain(), BUDGETS, Names())
    payment = await payer.sign(node.entry(payee))
    assert await sender.fate(payment) is Fate.UNSEEN
    if node.lane == "algorand":
        node.control(verb="advance", blocks=1001)
    elif node.lane == "base":
        node.control(verb="block_time_offset", seconds=8000)
        node.control(verb="advance", blocks=1)
    else:
        node.control(verb="advance", blocks=20_000)
        assert await sender.fate(payment) is not Fate.LAPSED, "a node that is behind does not know a fresh blockhash"
        payment = replace(payment, signed_at=payment.signed_at - 1000)
    assert (await land(sender, payment, 30)).fate is Fate.LAPSED
    assert await read_balance(payer, node, payee) == 0
    if node.lane != "base":
        assert await sender.fate(replace(payment, held=2 * 10**15)) is not Fate.LAPSED
    await sender.close()
    await payer.close()


async def test_what_an_ended_process_left_goes_back_to_the_funder(node: Node, tmp_path: Path) -> None:
    """The account is derived from the funder's key and the label: nothing but the label has to be stored."""
    secret, address = _new_account(node.lane)
    (tmp_path / "funder").write_text(secret)
    node.control(verb="fund", address=address, amount=str(10**19 if node.lane == "base" else 10**10))
    if node.lane == "algorand":
        node.opt_in(secret)
    node.control(verb="mint", address=address, amount="1000000", asset=node.usdc)
    funder = {"funder": Secret(file=tmp_path / "funder"), "spending_limit": "500000"}
    wallet = Wallet(main_network=True, most=PRICE, label=LABEL)
    payer = await node.payer(wallet, **funder)
    if node.lane == "solana":
        await asyncio.sleep(1)  # what is sent is tried on the finalized state first
    payment = await payer.sign(node.entry(await node.payee()))
    payer.has_open_payment = True
    await payer.close()
    watching_payer = await node.payer()
    assert await read_balance(watching_payer, node, address) == 1_000_000 - PRICE
    assert await read_balance(watching_payer, node, payment.payer) == PRICE
    again = Wallet(main_network=True, label=LABEL)
    await take_back(node.chain(**funder), BUDGETS, Names(), again, node.usdc)
    assert await read_balance(watching_payer, node, address) == 1_000_000
    await watching_payer.close()


class Scripted:
    """A sender that plays what a chain and a node say."""

    def __init__(self, *fates: Fate | Exception, sends: tuple[Exception | None, ...] = ()) -> None:
        self._fates = list(fates)
        self._sends = list(sends)
        self.sent = 0

    async def fate(self, payment: SignedPayment) -> Fate:
        del payment
        landing = self._fates.pop(0) if len(self._fates) > 1 else self._fates[0]
        if isinstance(landing, Exception):
            raise landing
        return landing

    async def send(self, payment: SignedPayment) -> None:
        del payment
        self.sent += 1
        fault = self._sends.pop(0) if self._sends else None
        if fault is not None:
            raise fault

    async def transaction(self, payment: SignedPayment) -> str | None:
        return payment.tx_id

    async def close(self) -> None:
        """Close nothing."""


SIGNED_PAYMENT = SignedPayment("P", "1", 1, "TX")
OUTDATED_LANDING = Landing(Fate.UNSEEN, "old", is_refused=True, is_outdated=True)
# The first answer is lost, so the node may have passed the transaction on, and the second one is no verdict.
LOST_THEN_REFUSED = (Fate.UNSEEN, Fate.UNSEEN, Fate.UNSEEN, Fate.SEEN, Fate.LANDED)


@pytest.mark.parametrize(
    ("sender", "seconds", "landing", "sent_count"),
    [
        (Scripted(Fate.LANDED), 10, Landing(Fate.LANDED), 0),
        (Scripted(Fate.UNSEEN, Fate.SEEN, Fate.LANDED), 10, Landing(Fate.LANDED), 1),
        (
            Scripted(Fate.UNSEEN, Fate.UNSEEN, sends=(NotTaken("no"),)),
            10,
            Landing(Fate.UNSEEN, "no", is_refused=True),
            1,
        ),
        (Scripted(Fate.UNSEEN, Fate.LANDED, sends=(NotTaken("twice"),)), 10, Landing(Fate.LANDED, "twice"), 1),
        (Scripted(Fate.UNSEEN, Fate.SEEN, Fate.LANDED, sends=(NotTaken("twice"),)), 10, Landing(Fate.LANDED), 1),
        (Scripted(Inconclusive("away"), Fate.UNSEEN, Fate.LANDED), 10, Landing(Fate.LANDED), 1),
        (Scripted(Fate.UNSEEN, Fate.UNSEEN, Fate.LANDED, sends=(Inconclusive("late"),)), 10, Landing(Fate.LANDED), 2),
        (Scripted(Fate.UNSEEN, sends=(OutdatedPayment("old"),)), 10, OUTDATED_LANDING, 1),
        (Scripted(*LOST_THEN_REFUSED, sends=(Inconclusive("late"), NotTaken("no"))), 10, Landing(Fate.LANDED), 2),
        (Scripted(*LOST_THEN_REFUSED, sends=(Inconclusive("late"), OutdatedPayment("no"))), 9, Landing(Fate.LANDED), 2),
        (Scripted(Inconclusive("away")), 0, Landing(Fate.UNSEEN, "away"), 0),
        (Scripted(Fate.SEEN), 0, Landing(Fate.SEEN), 0),
        (Scripted(Fate.FAILED), 10, Landing(Fate.FAILED), 0),
    ],
)
async def test_a_payment_is_sent_until_the_chain_decides(
    sender: Scripted, seconds: float, landing: Landing, sent_count: int
) -> None:
    """What the chain shows decides; a refusal counts only for a payment that is not on its way."""
    assert (await land(sender, SIGNED_PAYMENT, seconds), sender.sent) == (landing, sent_count)
