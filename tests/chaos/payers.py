"""Payers of a chaos run: each pays once, and presents its one proof until it gets a final answer."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any, TypeVar

import httpx
from algosdk.error import AlgodHTTPError
from algosdk.transaction import AssetTransferTxn

from tests.algorand_signing import signed_by
from tests.chaos.judging import Purchase
from tests.reference.rail.base_stack import BasePayer
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, USDC, Payer, header, proof_of

PATIENCE_SECONDS = 300.0
_PAUSE_SECONDS = 0.25
_SERVER_ERROR = 500
_T = TypeVar("_T")


def buy(url: str, payer: Payer | BasePayer, number: int) -> Purchase:
    """Buy once, from whichever worker answers."""
    start = time.monotonic()
    lane = "algorand" if isinstance(payer, Payer) else "eip155"
    purchase = Purchase(number, lane, {}, COMPLIANCE_BODY)
    with httpx.Client(base_url=url, trust_env=False, timeout=30) as http:

        def find_entry() -> dict[str, Any] | None:
            answer = http.post(COMPLIANCE, json=purchase.body)
            entries = answer.json()["accepts"] if answer.status_code == 402 else []
            # A lane whose node is away is not offered for the moment.
            return next((one for one in entries if one["network"].startswith(lane)), None)

        entry = _persist(find_entry)
        if entry is None:
            return purchase
        purchase.price = int(entry["maxAmountRequired"])
        proof = _pay(payer, entry) if isinstance(payer, Payer) else payer.authorize(entry)
        purchase.headers = {"X-PAYMENT": header(proof)}

        def present() -> httpx.Response | None:
            purchase.repeats += 1
            answer = http.post(COMPLIANCE, json=purchase.body, headers=purchase.headers)
            purchase.last = f"{answer.status_code} {answer.text[:200]}"
            is_final = answer.status_code < _SERVER_ERROR and "Retry-After" not in answer.headers
            return answer if is_final else None

        purchase.answer = _persist(present)
    purchase.repeats -= 1
    purchase.seconds = time.monotonic() - start
    return purchase


def _persist(ask: Callable[[], _T | None]) -> _T | None:
    """Ask until there is an answer; None if no answer comes in time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.HTTPError, ValueError):
            if (answer := ask()) is not None:
                return answer
        time.sleep(_PAUSE_SECONDS)
    return None


def _pay(payer: Payer, entry: dict[str, Any]) -> dict[str, str]:
    """Pay an entry on Algorand with one transaction, whatever its node does, and return the proof."""
    client, note = payer.chain.client, entry["extra"]["payment_reference"].encode()

    def until(ask: Callable[[], _T | None]) -> _T:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(AlgodHTTPError, OSError, ValueError):
                if (answer := ask()) is not None:
                    return answer
            time.sleep(_PAUSE_SECONDS)
        raise AssertionError("the node took no payment in time")

    parameters = until(client.suggested_params)
    amount = int(entry["maxAmountRequired"])
    signed = signed_by(payer.key, AssetTransferTxn(payer.address, parameters, entry["payTo"], amount, USDC, note=note))
    tx_id = str(signed.transaction.get_txid())

    def find_round() -> int | None:
        # The same transaction again: a chain takes it once.
        with contextlib.suppress(AlgodHTTPError):
            client.send_transaction(signed)
        return client.pending_transaction_info(tx_id).get("confirmed-round") or None  # type: ignore[union-attr]

    until(find_round)
    return proof_of(tx_id, entry)
