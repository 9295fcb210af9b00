"""Stock x402 clients for Algorand and Solana: what they make of the rail's 402, and what it takes to be served.

Nothing of npm's `@x402/fetch`, `@x402/avm` and `@x402/svm`, or of PyPI's `x402`, is changed. Their `exact` schemes
sign a transfer without the weld, so the rail refuses it by name, over either header, and no money counts. Served is who
registers a hook for 402s, npm's own place for other ways to pay, that pays the weld.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from algosdk import encoding, transaction
from algosdk.error import AlgodHTTPError
from solders.keypair import Keypair
from solders.message import to_bytes_versioned
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from spl.token.instructions import get_associated_token_address

from localnet.npm import node_modules
from programs.node import node
from tests.outside.sides import FUNDED_AMOUNT, AlgorandSide, SolanaSide, post_json
from tests.outside.x402.environment import python_of_client

FOLDER = Path(__file__).parent / "x402"
PATH = "/pay/v1/compliance/receipt"
BODY = {"recipient_address": "screen-allow", "network": "base_mainnet"}
PRICE = 50_000
TRANSFER_CHECKED = 12
SIDES: Mapping[str, Callable[[dict[str, str]], AlgorandSide | SolanaSide]] = {
    "algorand": AlgorandSide,
    "solana": SolanaSide,
}
Offer = dict[str, Any]


@dataclass(frozen=True)
class Account:
    """A fresh account that was given a dollar."""

    address: str
    key: str


class Lane:
    """What the stock client of one lane said and did, all asked of one run of it, and the chain that it did it on."""

    def __init__(self, name: str, words: list[str], stack: dict[str, str], folder: Path, *, hooks: bool = True) -> None:
        self.name, self.url = name, stack["rail"] + PATH
        self.side = SIDES[name](stack)
        self._words = words
        self.offer: Offer = httpx.post(self.url, json=BODY, timeout=600).json()
        self.entry = self.entry_of(self.offer)
        self._folder, self._accounts = folder, 0
        self.signer, self.buyer, self.welder, self.astray, self.other = (self._account() for _ in range(5))
        self.before = self.holdings()
        offers, calls = self._offers(), self._calls()[: None if hooks else 1]
        answers = self._ask_client({"key": self.signer.key, "offers": list(offers.values()), "calls": calls})
        self.made = dict(zip(offers, answers["offers"], strict=True))
        self.bought, *self.hooked = answers["calls"]
        self.after = self.holdings()

    def entry_of(self, offer: Offer) -> dict[str, Any]:
        """Return this lane's entry of a 402."""
        entry: dict[str, Any]
        (entry,) = (one for one in offer["accepts"] if one["network"] == self.side.network)
        return entry

    def _offers(self) -> dict[str, Offer]:
        """Return 402s: the rail's own, some that must not be paid, and two that ask for something else."""
        sponsored_extra = {**self.entry["extra"], "feePayer": self.other.address}
        return {
            "right": self.offer,
            "another network": {**self.offer, "accepts": [one for one in self.offer["accepts"] if one != self.entry]},
            "another scheme": self._change_offer(scheme="upto"),
            "another asset": self._change_offer(asset="1"),
            "above a dollar": self._change_offer(amount="1000001"),
            "no atomic units": self._change_offer(amount="0.05 USDC"),
            "another payee": self._change_offer(payTo=self.other.address),
            "another fee payer": self._change_offer(extra=sponsored_extra),
        }

    def _change_offer(self, **members: object) -> Offer:
        return {**self.offer, "accepts": [{**self.entry, **members}]}

    def _calls(self) -> list[dict[str, Any]]:
        """Return calls: by the stock client alone, with a hook that welds, with one that welds to another challenge."""
        extra = self.entry["extra"]
        wrong = {name: extra[name] for name in ("payment_reference", "svm_reference_pubkey") if name in extra}
        return [
            {"key": self.buyer.key, "weld": None},
            {"key": self.welder.key, "weld": {}},
            {"key": self.astray.key, "weld": wrong},
        ]

    def _ask_client(self, question: dict[str, Any]) -> dict[str, list[Any]]:
        where = {"url": self.side.url, "token": self.side.environment.get("ALGOD_TOKEN", "")}
        line = json.dumps({"lane": self.name, "node": where, "url": self.url, "body": BODY, **question})
        result = subprocess.run(self._words, input=line, capture_output=True, text=True, timeout=600, check=False)
        assert result.returncode == 0, result.stderr
        answers: dict[str, list[Any]] = json.loads(result.stdout)
        return answers

    def _account(self) -> Account:
        self._accounts += 1
        file = self._folder / f"{self.name}{self._accounts}.key"
        return Account(self.side.new_payer(file), file.read_text("ascii"))

    def holdings(self) -> tuple[int, ...]:
        """Return what the payee holds, and who signed, bought, welded and went astray."""
        accounts = (self.signer, self.buyer, self.welder, self.astray)
        return tuple(self.side.dollars(one) for one in (self.side.payee, *(each.address for each in accounts)))

    def received_at(self, payee: str) -> str:
        """Return the account at which money for a payee arrives."""
        if self.name == "algorand":
            return payee
        mint = Pubkey.from_string(self.entry["asset"])
        return str(get_associated_token_address(Pubkey.from_string(payee), mint))

    def present_payment(self, header: str, payment: object) -> tuple[int, str]:
        """Return status and code of the rail's answer to a payment."""
        value = base64.b64encode(json.dumps(payment).encode()).decode()
        answer = httpx.post(self.url, json=BODY, headers={header: value}, timeout=600)
        assert "Retry-After" not in answer.headers
        return answer.status_code, answer.json()["error"]


def of_npm() -> list[str]:
    """Return the words that start npm's clients."""
    return [str(node().path), str(FOLDER / "stock.mjs"), str(node_modules(FOLDER).parent)]


@pytest.fixture(scope="module")
def algorand(stack: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Lane:
    return Lane("algorand", of_npm(), stack, tmp_path_factory.mktemp("algorand"))


@pytest.fixture(scope="module")
def solana(stack: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Lane:
    return Lane("solana", of_npm(), stack, tmp_path_factory.mktemp("solana"))


@pytest.fixture(scope="module")
def solana_of_pypi(stack: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Lane:
    words = [str(python_of_client()), str(FOLDER / "stock_svm.py")]
    return Lane("solana", words, stack, tmp_path_factory.mktemp("solana"), hooks=False)


@pytest.fixture(params=["algorand", "solana", "solana_of_pypi"])
def lane(request: pytest.FixtureRequest) -> Lane:
    bought_lane: Lane = request.getfixturevalue(request.param)
    return bought_lane


@pytest.fixture(params=["algorand", "solana"])
def hooked_lane(request: pytest.FixtureRequest) -> Lane:
    bought_lane: Lane = request.getfixturevalue(request.param)
    return bought_lane


def read_transfer(lane: Lane, payload: dict[str, Any]) -> tuple[str, str, int, str]:
    """Return what a payload's transaction would do: payer, asset, amount, receiver (on Solana the token account)."""
    if lane.name == "algorand":
        transfer = encoding.msgpack_decode(payload["paymentGroup"][payload["paymentIndex"]]).transaction
        assert isinstance(transfer, transaction.AssetTransferTxn)
        return transfer.sender, str(transfer.index), transfer.amount, transfer.receiver
    message = solana_transaction(payload).message
    (instruction,) = (
        each for each in message.instructions if each.data[0] == TRANSFER_CHECKED and len(each.accounts) == 4
    )
    _, mint, destination, authority = (str(message.account_keys[at]) for at in instruction.accounts)
    return authority, mint, int.from_bytes(instruction.data[1:9], "little"), destination


def solana_transaction(payload: dict[str, Any]) -> VersionedTransaction:
    return VersionedTransaction.from_bytes(base64.b64decode(payload["transaction"]))


def test_the_stock_client_signs_what_is_asked_and_is_not_served(lane: Lane) -> None:
    """It finds its lane in the 402 and signs price, asset and payee; neither header takes it, and nothing moves."""
    unpaid, paid_call = lane.bought
    assert (unpaid["status"], unpaid["body"]["error"], unpaid["signature"]) == (402, "payment_required", None)
    assert (paid_call["status"], paid_call["body"]["error"], paid_call["proof"]) == (402, "payment_not_welded", None)
    payload = json.loads(base64.b64decode(paid_call["signature"]))
    accepted_entry, entry = payload["accepted"], lane.entry_of(unpaid["body"])
    assert (payload["x402Version"], accepted_entry) == (
        2,
        {name: entry[name] for name in entry if name in accepted_entry},
    )
    assert set(entry) - set(accepted_entry) <= {"maxAmountRequired"}
    expected_transfer = (lane.buyer.address, lane.entry["asset"], PRICE, lane.received_at(lane.entry["payTo"]))
    assert read_transfer(lane, payload["payload"]) == expected_transfer
    for header in ("PAYMENT-SIGNATURE", "X-PAYMENT"):
        assert lane.present_payment(header, payload) == (402, "payment_not_welded")
    assert lane.side.dollars(lane.buyer.address) == FUNDED_AMOUNT


@pytest.mark.parametrize(
    ("offer", "reason"),
    [
        ("another network", "No network/scheme registered|match registered schemes"),
        ("another scheme", "No network/scheme registered|match registered schemes"),
        ("another asset", "only default assets"),
        ("above a dollar", "max_?amount_?per_?payment"),
        ("no atomic units", "Invalid amount"),
    ],
)
def test_it_stops_at_what_it_must_not_pay(lane: Lane, offer: str, reason: str) -> None:
    """The control: the rail's 402 with one thing changed, and nothing is signed."""
    assert "made" in lane.made["right"]
    assert re.search(reason, lane.made[offer]["refused"], re.IGNORECASE)


def test_it_signs_for_whom_it_is_told(lane: Lane) -> None:
    """The control of what is read from its transactions: another payee is another receiver."""
    *_, payee = read_transfer(lane, lane.made["another payee"]["made"]["payload"])
    assert payee == lane.received_at(lane.other.address)


def test_with_a_hook_that_welds_it_is_served(hooked_lane: Lane) -> None:
    """A hook that pays the weld is enough, and pays the price once."""
    unpaid, served_call = hooked_lane.hooked[0]
    assert (unpaid["status"], served_call["status"], served_call["signature"]) == (402, 200, None)
    assert served_call["body"]["result"]["verdict"] == "ALLOW"
    assert served_call["body"]["payable_receipt"].count(".") == 2
    assert hooked_lane.side.dollars(hooked_lane.welder.address) == FUNDED_AMOUNT - PRICE


def test_with_a_hook_that_welds_to_another_challenge_it_is_not(hooked_lane: Lane) -> None:
    """The control: the money arrives, and neither the hook's proof nor what the client then signs is served."""
    answers = [(one["status"], one["body"].get("error")) for one in hooked_lane.hooked[1]]
    assert answers == [(402, "payment_required"), (402, "weld_mismatch"), (402, "payment_not_welded")]
    payee, signer, buyer, welder, astray = (
        now - then for now, then in zip(hooked_lane.after, hooked_lane.before, strict=True)
    )
    assert (payee, signer, buyer, welder, astray) == (2 * PRICE, 0, 0, -PRICE, -PRICE)


def test_what_it_signs_on_algorand_is_money_that_does_not_count(algorand: Lane) -> None:
    """The control of the balances: the node takes the signed group, unchanged; the rail serves no call for it."""
    payment, side = algorand.made["right"]["made"], algorand.side
    assert isinstance(side, AlgorandSide)
    (signed_transaction,) = (encoding.msgpack_decode(one) for one in payment["payload"]["paymentGroup"])
    signed_transaction.transaction.amount += 1
    with pytest.raises(AlgodHTTPError, match="At least one signature didn't pass verification"):
        side.algod.send_transaction(signed_transaction)
    signed_transaction.transaction.amount -= 1
    tx_id = side.algod.send_transaction(signed_transaction)
    transaction.wait_for_confirmation(side.algod, tx_id, 10)
    assert side.dollars(algorand.signer.address) == FUNDED_AMOUNT - PRICE
    proof = {"tx_id": tx_id, "payment_reference": payment["accepted"]["extra"]["payment_reference"]}
    assert algorand.present_payment("X-PAYMENT", proof) == (402, "weld_mismatch")


def test_what_it_signs_on_solana_nobody_can_send(solana: Lane) -> None:
    """The rail's fee payer has no key: the node refuses the transaction, with any signature in that place."""
    signed_transaction = solana_transaction(solana.made["right"]["made"]["payload"])
    assert str(signed_transaction.message.account_keys[0]) == solana.entry["extra"]["feePayer"]
    for whole in (signed_transaction, sign_as_sponsor(signed_transaction, Keypair())):
        assert "signature" in send_transaction(solana, whole)["error"]["message"]


def test_with_a_fee_payer_that_signs_it_is_money_that_does_not_count(solana: Lane) -> None:
    """The control of that: with a fee payer of its own it moves money; the rail serves no call for it."""
    payment = solana.made["another fee payer"]["made"]
    signed_transaction = solana_transaction(payment["payload"])
    tx_id = send_transaction(solana, sign_as_sponsor(signed_transaction, Keypair.from_json(solana.other.key)))["result"]
    wait_until_final(solana, tx_id)
    assert solana.side.dollars(solana.signer.address) == FUNDED_AMOUNT - PRICE
    proof = {"tx_id": tx_id, "payment_reference": payment["accepted"]["extra"]["payment_reference"]}
    assert solana.present_payment("X-PAYMENT", proof) == (402, "weld_mismatch")


def sign_as_sponsor(transaction: VersionedTransaction, sponsor: Keypair) -> VersionedTransaction:
    """Return a transaction with the sponsor's signature in its fee payer's place."""
    signature = sponsor.sign_message(to_bytes_versioned(transaction.message))
    return VersionedTransaction.populate(transaction.message, [signature, *transaction.signatures[1:]])


def send_transaction(lane: Lane, whole: VersionedTransaction) -> Any:
    """Return a Solana node's answer to a transaction."""
    wire = base64.b64encode(bytes(whole)).decode()
    parameters = [wire, {"encoding": "base64"}]
    return post_json(lane.side.url, {"jsonrpc": "2.0", "id": 1, "method": "sendTransaction", "params": parameters})


def wait_until_final(lane: Lane, tx_id: str) -> None:
    """Wait until a Solana transaction is final."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "getSignatureStatuses", "params": [[tx_id]]}
    while True:
        (status,) = post_json(lane.side.url, call)["result"]["value"]
        if status is not None and status["confirmationStatus"] == "finalized":
            return
        time.sleep(0.1)


def test_every_package_is_pinned() -> None:
    """It comes from registry.npmjs.org with a hash."""
    lock = json.loads((FOLDER / "package-lock.json").read_text("utf-8"))
    for place, entry in lock["packages"].items():
        if place:
            assert entry["resolved"].startswith("https://registry.npmjs.org/"), place
            assert entry["integrity"].startswith("sha512-"), place
