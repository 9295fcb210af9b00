"""Judgement of receipts by a rail that settles itself: the chain shows what was paid, not the rail."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from conformance.engine.session import Session
from conformance.log.events import EventLog
from conformance.oracles.hash_recipes import jcs_bytes, sha256_hex
from conformance.outcome import Inconclusive, Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Payer, Rail, Reply
from tests.conformance.checks.trial import find_broken_rows, run_one_check

CHECK, ROW = "receipt_binds_request_response_and_payment", "RAIL-RCPT-06"
UNBOUND = PROFILE.replace('"reference"', '"none"') + (
    '[rail.services]\nreceipt-verify = "/pay/v1/verify/receipt"\n'
    'compliance-receipt = "/pay/v1/compliance/receipt"\nrfc9421-verify = "/pay/v1/verify/rfc9421"\n'
)
SETTLER = "0x" + "5e" * 20
PAYER, PAYEE = "0x" + "a1" * 20, "0x" + "b2" * 20
# What a rail makes of a transaction: the id that it names, and the claims that it changes.
MakeReferences = Callable[[str], tuple[str | None, Mapping[str, Any]]]


def reference(tx_id: str) -> str:
    """Return a reference by the profile's recipe."""
    return "sha256:" + sha256_hex(f"weldproof-payable-core:{tx_id}:algorand_mainnet".encode())


class SettlingRail(Rail):
    """Settles authorizations, each in a separate transaction, and names them as a test says."""

    def __init__(self, make_references: MakeReferences) -> None:
        super().__init__()
        self.chain: dict[str, str] = {}
        self._named = make_references

    def _paid_call(self, call: Call) -> Reply:
        if not isinstance(call.proof, dict) or "authorization" not in call.proof:
            return self._offer(call)
        nonce = call.proof["authorization"]["nonce"]
        tx_id = self.chain.setdefault(nonce, "0x" + sha256_hex(nonce.encode()))
        told, changed = self._named(tx_id)
        result = {"verdict": "ALLOW"}
        claims = {
            "kind": "weldproof/payable-svc-receipt/1",
            "request_hash": self.request_hash(call),
            "response_hash": "sha256:" + sha256_hex(jcs_bytes(result)),
            "settled_payment_ref": reference(tx_id),
            "pay_to": PAYEE,
            "amount_microunits": "10000",
            **changed,
        }
        header = base64.b64encode(json.dumps({"success": True, "transaction": told}).encode()).decode()
        return Reply(
            200,
            {"result": result, "payable_receipt": self.sign(claims)},
            {} if told is None else {"PAYMENT-RESPONSE": header},
        )

    def _offer(self, call: Call) -> Reply:
        offer = self.challenge(call)
        offer.document["accepts"][0]["payTo"] = PAYEE
        return offer


class SettledPayer(Payer):
    """Signs, sends nothing, and finds on the chain what the rail did with it."""

    address = PAYER

    def __init__(self, rail: SettlingRail, shown: bool | None) -> None:
        super().__init__(rail)
        self._chain, self._shown, self._nonces = rail.chain, shown, itertools.count(1)

    async def pay(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return an authorization."""
        terms = {"from": PAYER, "to": entry["payTo"], "nonce": f"0x{next(self._nonces):064x}"}
        return {"authorization": terms, "signature": "0x", "challenge_token": entry["extra"]["payment_reference"]}

    async def settlement(self, entry: Mapping[str, Any], proof: Mapping[str, Any]) -> str | None:
        """Return what the chain shows, as far as its node shows it."""
        del entry
        if self._shown is None:
            raise Inconclusive("the node returns no logs")
        return self._chain.get(proof["authorization"]["nonce"]) if self._shown else None


async def run_settling_check(
    named: MakeReferences, profile: str = UNBOUND, shown: bool | None = True, log: EventLog | None = None
) -> dict[str, Verdict]:
    """Return the verdicts of a rail."""
    rail = SettlingRail(named)

    def ready(session: Session) -> None:
        session.payers.open_payers["algorand"] = SettledPayer(rail, shown)

    return await run_one_check(CHECK, rail, profile, ready=ready, log=log)


def honest(tx_id: str) -> tuple[str | None, Mapping[str, Any]]:
    """Name the transaction."""
    return tx_id, {}


def of_the_settler(_: str) -> tuple[str | None, Mapping[str, Any]]:
    """Name the account that settles, for every payment."""
    return SETTLER, {"settled_payment_ref": reference(SETTLER)}


HONEST: Mapping[str, MakeReferences] = {
    "named": honest,
    "not named": lambda _: (None, {}),
    "in capitals": lambda tx_id: (
        "0x" + tx_id[2:].upper(),
        {"settled_payment_ref": reference("0x" + tx_id[2:].upper())},
    ),
    "payee in capitals": lambda tx_id: (tx_id, {"pay_to": "0x" + PAYEE[2:].upper(), "payer": PAYER, "network": "?"}),
}


@pytest.mark.parametrize("named", HONEST.values(), ids=HONEST)
@pytest.mark.parametrize("profile", [PROFILE, UNBOUND])
async def test_a_receipt_of_the_transaction_on_the_chain_passes(named: MakeReferences, profile: str) -> None:
    """Whether the answer names it or not, and however it is written."""
    assert find_broken_rows(await run_settling_check(named, profile)) == set()
    assert (await run_settling_check(named, profile))[ROW] is Verdict.PASS


LIES: Mapping[str, MakeReferences] = {
    "the settler": of_the_settler,
    "the settler, without a header": lambda _: (None, {"settled_payment_ref": reference(SETTLER)}),
    "another transaction": lambda _: ("0x" + "cd" * 32, {"settled_payment_ref": reference("0x" + "cd" * 32)}),
    "one text for all": lambda tx_id: (tx_id, {"settled_payment_ref": "paid"}),
}


@pytest.mark.parametrize("named", LIES.values(), ids=LIES)
@pytest.mark.parametrize("profile", [PROFILE, UNBOUND])
async def test_what_paid_nothing_is_no_reference(named: MakeReferences, profile: str) -> None:
    """Whatever the rail calls its transaction."""
    assert (await run_settling_check(named, profile))[ROW] is Verdict.FAIL


@pytest.mark.parametrize(
    "changed",
    [
        {"pay_to": SETTLER},
        {"payer": SETTLER},
        {"amount_microunits": "1"},
        {"network": "eip155:8453"},
        {"payment_reference_hash": "sha256:" + "0" * 64},
    ],
)
async def test_claims_of_another_payment_warn(changed: Mapping[str, Any]) -> None:
    """The interface leaves those claims open, so that they decide nothing."""
    assert (await run_settling_check(lambda tx_id: (tx_id, changed)))[ROW] is Verdict.WARN


async def test_a_header_of_another_transaction_warns() -> None:
    """No sentence promises the header."""
    assert (await run_settling_check(lambda _: (SETTLER, {}), PROFILE))[ROW] is Verdict.WARN


@pytest.mark.parametrize("shown", [None, False])
async def test_where_the_node_shows_nothing_the_header_is_believed_and_that_is_told(
    shown: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But only of what may be a transaction."""
    monkeypatch.setattr("conformance.assertions.rail.receipt_payment_claims._BEHIND_SECONDS", 0)
    log = EventLog()
    assert (await run_settling_check(honest, UNBOUND, shown, log))[ROW] is Verdict.PASS
    assert [event for event in log.of("judgement") if "on_word" in event["where"]]
    assert (await run_settling_check(of_the_settler, UNBOUND, shown))[ROW] is Verdict.INCONCLUSIVE
