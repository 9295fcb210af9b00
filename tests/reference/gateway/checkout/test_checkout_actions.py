"""Verify, cancel and abandon, each refusal with its own code (P-CK-06, P-CK-07, P-CK-08)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reference.protocol.hashes import settled_payment_ref
from reference.protocol.observed_transaction import ObservedTransaction, TxStatus
from reference.protocol.service_word import ServiceWord
from reference.web import keyring
from tests.reference.gateway.checkout.checkout_shop import Shop, checkout_shop
from tests.reference.gateway.gateway_stack import PAYOUTS, Tenant, expect_refusal

ALGORAND, BASE, SOLANA = "algorand_testnet", "base_sepolia", "solana_devnet"


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with checkout_shop(tmp_path, now=int(time.time())) as shop:
        yield shop


@pytest.fixture
async def seller(shop: Shop) -> Tenant:
    return await shop.tenant()


@pytest.fixture
async def other_tenant(shop: Shop) -> Tenant:
    return await shop.tenant()


@pytest.mark.parametrize("network", [ALGORAND, BASE, SOLANA])
async def test_a_payment_that_is_shown_pays_at_once(shop: Shop, seller: Tenant, network: str) -> None:
    """The answer names the ledger entry and attests the settlement, signed by the gateway's key."""
    link = await shop.on(network, seller, redirect_url="https://shop.example/thanks")
    tx_id = shop.chains[network].pay(1, shop.memo(link), values=(9_000_000,))
    answer = await shop.post(link, "/verify", {"tx_id": tx_id, "chain": network})
    assert answer.status_code == 200, answer.text
    members = answer.json()
    assert (members["status"], members["redirect_url"]) == ("paid", "https://shop.example/thanks")
    claims = members["settlement_attestation"]
    assert claims["settlement_amount"]["amount_minor"] == "9000000"
    assert (claims["settlement_chain"], claims["settlement_result"]) == (network, "SETTLED")
    assert claims["settled_payment_ref"] == settled_payment_ref(ServiceWord(), tx_id, network)
    report = (await shop.http.post("/v1/receipt/verify", json={"jws": members["settlement_attestation_jws"]})).json()
    assert (report["verified"], report["receipt_kind"]) == (True, "settlement_attestation"), report
    assert await shop.status(link) == {
        "status": "paid",
        "redirect_url": "https://shop.example/thanks",
        "tx_id": tx_id,
        "settlement_attestation": claims,
        "settlement_attestation_jws": members["settlement_attestation_jws"],
    }
    (payment_entry,) = (await shop.internal("GET", f"/{seller.id}/payments?state=paid"))["payments"]
    assert tx_id == payment_entry["tx_id"]


async def test_reasons(shop: Shop, seller: Tenant) -> None:
    """Each fault of a transaction is reported by one reason, and changes nothing."""
    link, chain = await shop.on(SOLANA, seller), shop.chains[SOLANA]
    memo = shop.memo(link)
    right = chain.transfer((memo,))
    (transfers,) = right.transfers
    wrong = {
        "tx_not_confirmed": replace(right, final=False),
        "tx_failed": replace(right, status=TxStatus.FAILED),
        "wrong_asset": replace(right, transfers=(replace(transfers, asset="x"),)),
        "wrong_recipient": replace(right, transfers=(replace(transfers, receiver="x"),)),
        "wrong_amount": replace(right, transfers=(replace(transfers, value=8_409_999),)),
        "memo_mismatch": replace(right, memos=()),
        "late_payment": replace(right, block_time=right.block_time + 100_000),
    }
    for number, (reason, seen) in enumerate(wrong.items(), 1):
        answer = await shop.post(link, "/verify", {"tx_id": chain.mine(number, seen)})
        expect_refusal(answer, 422, "payment_not_verified", reason=reason)
    for unknown in (chain.tx_id(20), "A" * 52, "not-an-id-at-all", "0" * 128):
        answer = await shop.post(link, "/verify", {"tx_id": unknown})
        expect_refusal(answer, 422, "payment_not_verified", reason="tx_not_found")
    for chain_name in ("base_sepolia", "solana_mainnet", "Solana", ""):
        answer = await shop.post(link, "/verify", {"tx_id": chain.pay(9, memo), "chain": chain_name})
        expect_refusal(answer, 422, "payment_not_verified", reason="wrong_chain")
    assert (await shop.status(link))["status"] == "active"
    for number, spelling in enumerate(
        ("solana_devnet", "solana-devnet", "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"), 10
    ):
        again = await shop.on(SOLANA, seller)
        body = {"tx_id": chain.pay(number, shop.memo(again)), "chain": spelling}
        assert (await shop.post(again, "/verify", body)).status_code == 200


async def test_an_evm_id_in_capitals_is_the_same_transaction(shop: Shop, seller: Tenant) -> None:
    """A transaction is known by its canonical id, however it is spelled (P-NW-04)."""
    link = await shop.on(BASE, seller)
    tx_id = shop.chains[BASE].pay(0xABCDEF, shop.memo(link))
    answer = await shop.post(link, "/verify", {"tx_id": "0x" + tx_id[2:].upper()})
    assert answer.status_code == 200
    assert (await shop.status(link))["tx_id"] == tx_id


async def test_the_payout_address_pays_nobody(shop: Shop, seller: Tenant) -> None:
    """A payment from the payout address to itself has a refusal of its own."""
    link, chain = await shop.on(SOLANA, seller), shop.chains[SOLANA]
    right = chain.transfer((shop.memo(link),))
    own = replace(right, transfers=(replace(right.transfers[0], sender=PAYOUTS[SOLANA]),))
    expect_refusal(await shop.post(link, "/verify", {"tx_id": chain.mine(1, own)}), 403, "self_payment_blocked")


async def test_a_transfer_that_was_used(shop: Shop, seller: Tenant, other_tenant: Tenant) -> None:
    """Under three memos one transfer pays one link: to the tenant's other link it is used, to another's a replay."""
    first, second, strange = [await shop.on(SOLANA, one) for one in (seller, seller, other_tenant)]
    tx_id = shop.chains[SOLANA].pay(1, *map(shop.memo, (first, second, strange)))
    assert (await shop.post(first, "/verify", {"tx_id": tx_id})).status_code == 200
    answer = await shop.post(second, "/verify", {"tx_id": tx_id})
    expect_refusal(answer, 422, "payment_not_verified", reason="transfer_used")
    expect_refusal(await shop.post(strange, "/verify", {"tx_id": tx_id}), 422, "cross_tenant_replay")


async def test_transfers_used_by_both_are_used(shop: Shop, seller: Tenant, other_tenant: Tenant) -> None:
    """Only when every fitting transfer paid other tenants' links is it a replay across tenants."""
    mine, strange, late = [await shop.on(SOLANA, one) for one in (seller, other_tenant, seller)]
    tx_id = shop.chains[SOLANA].pay(1, *map(shop.memo, (mine, strange, late)), values=(8_410_000, 8_410_000))
    for link in (mine, strange):
        assert (await shop.post(link, "/verify", {"tx_id": tx_id})).status_code == 200
    answer = await shop.post(late, "/verify", {"tx_id": tx_id})
    expect_refusal(answer, 422, "payment_not_verified", reason="transfer_used")


async def test_a_chain_that_is_away_is_told(shop: Shop, seller: Tenant) -> None:
    """Verify and abandon need the chain: without it 503, and the link stays as it is. Cancel does not."""
    link = await shop.on(ALGORAND, seller)
    shop.chains[ALGORAND].away = True
    for below, body in (("/verify", {"tx_id": "A" * 52}), ("/abandon", None)):
        answer = await shop.post(link, below, body)
        expect_refusal(answer, 503, "chain_unavailable")
        assert answer.headers["Retry-After"] == "5"
    assert (await shop.status(link))["status"] == "active"
    assert (await shop.post(link, "/cancel", {"cancel_secret": link["cancel_secret"]})).status_code == 200


async def test_a_paid_link_is_over(shop: Shop, seller: Tenant) -> None:
    """Cancel, abandon, and verify with another transaction name the one that paid it."""
    link, chain = await shop.on(BASE, seller), shop.chains[BASE]
    tx_id = chain.pay(1, shop.memo(link))
    assert (await shop.post(link, "/verify", {"tx_id": tx_id})).status_code == 200
    for below, body in every_action(link, chain.pay(2, shop.memo(link))):
        expect_refusal(await shop.post(link, below, body), 409, "payment_link_already_paid", tx_id=tx_id)
    wrong_chain = {"tx_id": tx_id, "chain": SOLANA}
    expect_refusal(await shop.post(link, "/verify", wrong_chain), 409, "payment_link_already_paid", tx_id=tx_id)


@pytest.mark.parametrize("network", [ALGORAND, BASE, SOLANA])
async def test_the_transaction_that_paid_is_answered_whoever_saw_it_first(
    shop: Shop, seller: Tenant, network: str
) -> None:
    """A watcher takes nothing away: the same answer, byte for byte and as often as asked, also without the chain."""
    link = await shop.on(network, seller)
    tx_id = shop.chains[network].pay(1, shop.memo(link))
    await shop.post(link, "/abandon")  # makes the watcher look
    status = await shop.status(link)
    shop.chains[network].away = True
    shop.advance(100)
    answers = [await shop.post(link, "/verify", {"tx_id": tx_id}) for _ in range(2)]
    keyring.rotate(shop.settings.signing_key_file, now=2_000_000_000)
    answers.append(await shop.post(link, "/verify", {"tx_id": tx_id}))
    assert [answer.status_code for answer in answers] == [200] * 3, answers[0].text
    assert len({answer.content for answer in answers}) == 1
    members = answers[0].json()
    assert (members["status"], members["settlement_attestation"]["settlement_result"]) == ("paid", "SETTLED")
    assert members["settlement_attestation_jws"] == status["settlement_attestation_jws"]
    report = (await shop.http.post("/v1/receipt/verify", json={"jws": members["settlement_attestation_jws"]})).json()
    assert (report["verified"], report["receipt_kind"]) == (True, "settlement_attestation"), report


def every_action(link: dict[str, Any], tx_id: str = "A" * 52) -> list[tuple[str, Any]]:
    return [("/verify", {"tx_id": tx_id}), ("/cancel", {"cancel_secret": link["cancel_secret"]}), ("/abandon", None)]


async def test_an_expired_link_is_over(shop: Shop, seller: Tenant) -> None:
    """Verify, cancel and abandon say when it expired."""
    link = await shop.on(ALGORAND, seller, expires_in_seconds=60)
    shop.pass_time(75)
    expect_refusal(await shop.post(link, "/abandon"), 410, "payment_link_expired", expires_at=link["expires_at"])
    for below, body in every_action(link):
        expect_refusal(await shop.post(link, below, body), 410, "payment_link_expired", expires_at=link["expires_at"])
    assert (await shop.status(link))["status"] == "expired"


async def test_a_payment_in_time_may_be_shown_after_the_expiry(shop: Shop, seller: Tenant) -> None:
    """The last look sees it, and the link is paid, not expired."""
    link = await shop.on(ALGORAND, seller, expires_in_seconds=60)
    tx_id = shop.chains[ALGORAND].pay(1, shop.memo(link))
    shop.pass_time(75)
    answer = await shop.post(link, "/verify", {"tx_id": tx_id})
    assert (answer.status_code, answer.json()["status"]) == (200, "paid"), answer.text
    assert (await shop.status(link))["status"] == "paid"


async def test_cancelling(shop: Shop, seller: Tenant) -> None:
    """Only the tenant's secret cancels; a cancelled link is over for verify and cancel, and abandoned already."""
    link = await shop.on(ALGORAND, seller)
    for secret in ("", "x", link["cancel_secret"][:-1], link["cancel_secret"] + "x", "Ω"):
        expect_refusal(await shop.post(link, "/cancel", {"cancel_secret": secret}), 403, "invalid_cancel_secret")
    assert (await shop.status(link))["status"] == "active"
    answer = await shop.post(link, "/cancel", {"cancel_secret": link["cancel_secret"]})
    assert (answer.status_code, answer.json()) == (200, {"status": "cancelled"})
    verify, cancel, abandon = every_action(link)
    for below, body in (verify, cancel):
        expect_refusal(await shop.post(link, below, body), 410, "payment_link_cancelled")
    assert (await shop.post(link, abandon[0])).json() == {"status": "cancelled"}


async def test_abandoning(shop: Shop, seller: Tenant) -> None:
    """An empty body or an empty object will do, and twice is as good as once."""
    for body in (None, {}, {"reason": "changed my mind"}):
        link = await shop.on(ALGORAND, seller)
        for _ in range(2):
            answer = await shop.post(link, "/abandon", body)
            assert (answer.status_code, answer.json()) == (200, {"status": "cancelled"})
    expect_refusal(await shop.post(await shop.on(ALGORAND, seller), "/abandon", []), 422, "validation_error")


async def test_nobody_walks_away_from_a_payment_on_its_way(shop: Shop, seller: Tenant) -> None:
    """While a matching transaction waits in a pool, or for finality, the link cannot be abandoned."""
    link, chain = await shop.on(ALGORAND, seller), shop.chains[ALGORAND]
    chain.pool[chain.tx_id(1)] = chain.transfer((shop.memo(link),))
    expect_refusal(await shop.post(link, "/abandon"), 409, "payment_pending", tx_id=chain.tx_id(1))
    chain.pool.clear()
    assert (await shop.post(link, "/abandon")).status_code == 200
    slow, chain = await shop.on(BASE, seller), shop.chains[BASE]
    chain.confirmations = 3
    tx_id = chain.pay(1, shop.memo(slow))
    expect_refusal(await shop.post(slow, "/abandon"), 409, "payment_pending", tx_id=tx_id)
    chain.mine()
    chain.mine()
    expect_refusal(await shop.post(slow, "/abandon"), 409, "payment_link_already_paid", tx_id=tx_id)


@pytest.mark.parametrize("network", [BASE, SOLANA])
async def test_a_payment_that_was_shown_holds_its_link_where_no_pool_is_listed(
    shop: Shop, seller: Tenant, network: str
) -> None:
    """A node of these lanes does not list what waits for a block, but returns a named transaction until it is gone."""
    link, chain = await shop.on(network, seller), shop.chains[network]
    tx_id = chain.tx_id(1)
    chain.pool[tx_id], chain.lists_pool = ObservedTransaction(TxStatus.PENDING), False
    answer = await shop.post(link, "/verify", {"tx_id": tx_id})
    expect_refusal(answer, 422, "payment_not_verified", reason="tx_not_confirmed")
    expect_refusal(
        await shop.post(link, "/verify", {"tx_id": tx_id}), 422, "payment_not_verified", reason="tx_not_confirmed"
    )
    expect_refusal(await shop.post(link, "/abandon"), 409, "payment_pending", tx_id=tx_id)
    assert (await shop.status(link))["status"] == "active"
    chain.pool.clear()
    assert (await shop.post(link, "/abandon")).json() == {"status": "cancelled"}


async def test_a_payment_that_was_shown_too_early_pays_when_its_link_is_abandoned(shop: Shop, seller: Tenant) -> None:
    """It is looked at once more, and is final by then."""
    link, chain = await shop.on(BASE, seller), shop.chains[BASE]
    tx_id = chain.tx_id(1)
    chain.pool[tx_id], chain.lists_pool = ObservedTransaction(TxStatus.PENDING), False
    expect_refusal(
        await shop.post(link, "/verify", {"tx_id": tx_id}), 422, "payment_not_verified", reason="tx_not_confirmed"
    )
    chain.pool.clear()
    chain.hidden.add(chain.pay(1, shop.memo(link)))
    expect_refusal(await shop.post(link, "/abandon"), 409, "payment_link_already_paid", tx_id=tx_id)


async def test_bodies_that_do_not_fit(tmp_path: Path) -> None:
    """Each action refuses what is not its body, before anything is looked at."""
    # Without a limit on the age of newest blocks, only calls ask the chains.
    async with checkout_shop(tmp_path, now=int(time.time()), gateway_node_behind_seconds=0) as shop:
        await _refuses_bodies_that_do_not_fit(shop)


async def _refuses_bodies_that_do_not_fit(shop: Shop) -> None:
    link = await shop.on(ALGORAND, await shop.tenant())
    wrong: tuple[object, ...] = ("short", "x" * 129, 7, None, [], {})
    for tx_id in wrong:
        expect_refusal(await shop.post(link, "/verify", {"tx_id": tx_id}), 422, "validation_error")
    expect_refusal(await shop.post(link, "/verify", {}), 422, "validation_error")
    expect_refusal(await shop.post(link, "/verify", {"tx_id": "x" * 20, "chain": 7}), 422, "validation_error")
    expect_refusal(await shop.post(link, "/cancel", {"cancel_secret": 7}), 422, "validation_error")
    expect_refusal(await shop.post(link, "/cancel"), 400, "invalid_request")
    form = {"content": b"tx_id=x", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}
    for below in ("/verify", "/cancel", "/abandon"):
        expect_refusal(await shop.post(link, below, **form), 415, "unsupported_media_type")
        bad_body = {"content": b"{", "headers": {"Content-Type": "application/json"}}
        expect_refusal(await shop.post(link, below, **bad_body), 400, "invalid_request")
    assert shop.chains[ALGORAND].asked <= 1
    assert (await shop.status(link))["status"] == "active"


async def test_late_payments_are_listed_to_the_tenant(shop: Shop, seller: Tenant, other_tenant: Tenant) -> None:
    """A payment for a link that is over is in its tenant's list only."""
    link = await shop.on(SOLANA, seller, expires_in_seconds=60)
    await shop.post(link, "/cancel", {"cancel_secret": link["cancel_secret"]})
    tx_id = shop.chains[SOLANA].pay(1, shop.memo(link), values=(9_000_000,))
    late_link = await shop.on(SOLANA, seller)
    await shop.post(late_link, "/abandon")  # a look at the address
    (late,) = (await shop.internal("GET", f"/{seller.id}/payments?state=late"))["payments"]
    assert tx_id == late["tx_id"]
    assert await shop.internal("GET", f"/{other_tenant.id}/payments?state=late") == {"payments": []}
