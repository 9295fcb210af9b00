"""Money that names a link and pays none is listed with its reason, on every lane and within bounds (P-CK-10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import delete, update

from reference.gateway.checkout import misdirected_payments, watcher
from reference.gateway.unmatched_payments import UnmatchedPayments
from reference.lanes.lane import ChainUnavailable
from reference.protocol.eip3009 import nonce_of
from reference.protocol.link_payment import LinkState
from reference.protocol.networks import NETWORKS as TABLE
from reference.protocol.observed_transaction import AuthorizationUsed, ObservedTransaction
from reference.protocol.solana_transfers import associated_account
from reference.store.checkout_tables import payments, surpluses
from reference.store.links import Link
from tests.reference.gateway.checkout.conftest import NETWORKS, Bench, both_databases
from tests.reference.gateway.checkout.scripted_chain import AMOUNT, PAYER, ScriptedLane
from tests.reference.gateway.gateway_stack import PAYOUTS

ALGORAND, BASE, SOLANA = NETWORKS
OTHER_ASSET = {ALGORAND: "999", BASE: "0x" + "9" * 40, SOLANA: "9HpamAXHxUgoepffkFnhSjmGsf6yqacwUtcsNzSyLyzn"}
pytestmark = both_databases


async def list_unmatched(bench: Bench, tenant: str = "t-1") -> list[dict[str, Any]]:
    """Return what a tenant's dashboard lists."""
    return await UnmatchedPayments(bench.clock, bench.settling.payments).of_tenant(tenant)


def in_other_asset(bench: Bench, link: Link, value: int = AMOUNT) -> ObservedTransaction:
    """Return a payment of a link in an asset that only looks like its own."""
    asset, network = OTHER_ASSET[link.network], link.network
    transaction = bench.chains[network].transfer((bench.memo(link),), value)
    receiver = associated_account(PAYOUTS[network], asset) if network == SOLANA else transaction.transfers[0].receiver
    transfers = tuple(replace(one, asset=asset, receiver=receiver) for one in transaction.transfers)
    uses = tuple(replace(one, asset=asset) for one in transaction.authorizations_used)
    return replace(transaction, transfers=transfers, authorizations_used=uses)


@pytest.fixture(autouse=True)
def always_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for other assets in every round."""
    monkeypatch.setattr(watcher, "STRAY_SECONDS", 0.0)


@pytest.mark.parametrize("network", NETWORKS)
async def test_a_surplus_is_listed_and_given_back_once(bench: Bench, network: str) -> None:
    """The link is paid; what is above its amount is listed, marked as given back, and the payment stays."""
    exact, more = await bench.link(network), await bench.link(network)
    bench.chains[network].pay(1, bench.memo(exact))
    tx_id = bench.chains[network].pay(2, bench.memo(more), values=(AMOUNT + 1_590_000,))
    for _ in range(2):
        await bench.rounds()
    assert [await bench.state(entry) for entry in (exact, more)] == [LinkState.PAID] * 2
    (entry,) = await list_unmatched(bench)
    assert (entry["state"], entry["reason"], entry["tx_id"], entry["link_id"]) == ("surplus", "surplus", tx_id, more.id)
    assert (entry["amount"], entry["surplus"]) == (str(AMOUNT + 1_590_000), "1590000")
    assert await bench.settling.payments.count_unmatched() == {("surplus", network): 1}
    unmatched_payments = UnmatchedPayments(bench.clock, bench.settling.payments)
    back = bench.chains[network].tx_id(9)
    await unmatched_payments.refund(entry["payment_id"], back, tenant_id="t-1")
    with pytest.raises(Exception, match="given back already"):
        await unmatched_payments.refund(entry["payment_id"], back)
    assert [entry.refund_tx_id for entry in await unmatched_payments.of_all(is_refunded=True, most=9)] == [back]
    assert await unmatched_payments.of_all(is_refunded=False, most=9) == []
    assert await bench.settling.payments.count_unmatched() == {("refunded", network): 1}
    assert await bench.state(more) == LinkState.PAID


async def test_an_exact_payment_cannot_be_marked(bench: Bench) -> None:
    """What paid a link and no more is not there to be given back."""
    link = await bench.link(BASE)
    bench.chains[BASE].pay(1, bench.memo(link))
    await bench.rounds()
    (payment,) = await bench.payments()
    assert await bench.settling.payments.find_unmatched(payment.id) is None


async def test_surpluses_of_before_are_listed_at_a_start(bench: Bench) -> None:
    """A worker of before noted none: the next start lists them, once, and those of exact payments not."""
    links = [await bench.link(network) for network in NETWORKS]
    for link, more in zip(links, (1, 0, 2), strict=True):
        bench.chains[link.network].pay(1, bench.memo(link), values=(AMOUNT + more,))
    await bench.rounds()
    await bench.database.change(delete(surpluses))
    await bench.database.change(update(payments).values(seen_at=4_000_000_000))
    assert await list_unmatched(bench) == []
    for _ in range(2):
        await bench.settling.links.prepare()
    assert sorted(one["surplus"] for one in await list_unmatched(bench)) == ["1", "2"]


@pytest.mark.parametrize("network", NETWORKS)
async def test_another_asset_is_listed_with_its_id(bench: Bench, network: str) -> None:
    """The link waits; nothing is listed for a transfer of nothing, to another account or without the memo."""
    link, chain = await bench.link(network), bench.chains[network]
    fake = in_other_asset(bench, link)
    tx_id = chain.mine(1, fake)
    chain.mine(2, in_other_asset(bench, link, value=0))
    elsewhere = replace(fake.transfers[0], receiver=PAYER[chain.kind])
    chain.mine(3, replace(fake, transfers=(elsewhere,)))
    chain.mine(4, replace(fake, note=b"", memos=(), authorizations_used=()))
    for _ in range(2):
        await bench.rounds()
    assert await bench.state(link) == LinkState.ACTIVE
    (entry,) = await list_unmatched(bench)
    assert (entry["state"], entry["reason"], entry["tx_id"]) == ("other_asset", "wrong_asset", tx_id)
    assert (entry["asset_id"], entry["amount"], entry["surplus"]) == (OTHER_ASSET[network], str(AMOUNT), None)
    assert await list_unmatched(bench, "t-2") == []


async def test_another_asset_by_call_data_is_listed(bench: Bench) -> None:
    """Base's second way: a plain transfer of the look-alike, with the memo behind its call data."""
    link, chain = await bench.link(BASE), bench.chains[BASE]
    fake = in_other_asset(bench, link)
    words = bytes.fromhex(fake.transfers[0].receiver[2:]).rjust(32, b"\0") + AMOUNT.to_bytes(32, "big")
    calldata = bytes.fromhex("a9059cbb") + words + bench.memo(link).encode()
    chain.mine(1, replace(fake, authorizations_used=(), called_contract=OTHER_ASSET[BASE], calldata=calldata))
    await bench.rounds()
    assert [one["reason"] for one in await list_unmatched(bench)] == ["wrong_asset"]


async def test_no_flood_fills_the_list(bench: Bench) -> None:
    """A link lists eight of them, a round looks at sixteen, and payments are found all the same."""
    link, chain = await bench.link(ALGORAND), bench.chains[ALGORAND]
    for number in range(24):
        chain.mine(number, in_other_asset(bench, link, value=number + 1))
    count_before = chain.asked
    await bench.rounds(ALGORAND)
    assert chain.asked - count_before <= 16 + 8
    for _ in range(3):
        await bench.rounds(ALGORAND)
    entries = await list_unmatched(bench)
    assert len(entries) == misdirected_payments.MOST_OF_A_LINK == 8
    chain.pay(25, bench.memo(link))
    await bench.rounds(ALGORAND)
    assert await bench.state(link) == LinkState.PAID


async def test_a_node_that_refuses_the_further_search_finds_payments(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other assets are not found then, and nothing else suffers."""

    async def refuse(*_: Any) -> Any:
        raise ChainUnavailable("no search of all contracts")

    monkeypatch.setattr(ScriptedLane, "find_strays", refuse)
    link = await bench.link(BASE)
    bench.chains[BASE].pay(1, bench.memo(link))
    await bench.rounds()
    assert await bench.state(link) == LinkState.PAID


@pytest.mark.parametrize("text", ["{0} {1}", "{0}{1}", "{0}\n", "x{0}", "{0}x", "{1}, then {0}"])
@pytest.mark.parametrize("network", NETWORKS)
async def test_an_unclear_memo_is_listed(bench: Bench, network: str, text: str) -> None:
    """A memo within a longer text pays nothing; its transfer is listed once, for the first link that is named."""
    first, second, chain = await bench.link(network), await bench.link(network), bench.chains[network]
    note = text.format(bench.memo(first), bench.memo(second))
    transaction = chain.transfer((note,))
    if network == BASE:
        words = bytes.fromhex(transaction.transfers[0].receiver[2:]).rjust(32, b"\0") + AMOUNT.to_bytes(32, "big")
        calldata = bytes.fromhex("a9059cbb") + words + note.encode()
        transaction = replace(
            transaction, authorizations_used=(), called_contract=TABLE[BASE].asset_id, calldata=calldata
        )
    tx_id = chain.mine(1, transaction)
    for _ in range(2):
        await bench.rounds()
    assert [await bench.state(entry) for entry in (first, second)] == [LinkState.ACTIVE] * 2
    (entry,) = await list_unmatched(bench)
    assert (entry["state"], entry["reason"], entry["tx_id"]) == ("ambiguous", "ambiguous_memo", tx_id)
    assert entry["link_id"] == (second if text.startswith("{1}") else first).id
    chain.mine(2, replace(transaction, transfers=tuple(replace(entry, value=0) for entry in transaction.transfers)))
    chain.pay(3, bench.memo(first))
    await bench.rounds()
    assert await bench.state(first) == LinkState.PAID
    assert len(await list_unmatched(bench)) == 1


async def test_each_tenant_sees_a_note_that_names_its_link(bench: Bench) -> None:
    """Two tenants who are paid to one address each see it; a link of another address is not meant."""
    links = [await bench.link(ALGORAND, tenant) for tenant in ("t-1", "t-2")]
    away = await bench.link(ALGORAND, "t-3", pay_to="A" * 58)
    bench.chains[ALGORAND].pay(1, " ".join(bench.memo(one) for one in (*links, away)))
    await bench.rounds(ALGORAND)
    assert [[one["link_id"] for one in await list_unmatched(bench, link.tenant_id)] for link in links] == [
        [link.id] for link in links
    ]
    assert await list_unmatched(bench, "t-3") == []


async def test_a_transfer_beside_a_stranger_s_memo_is_listed(bench: Bench) -> None:
    """Solana: the first memo names a link that is not here, so the one transfer is not ours to take."""
    link, chain = await bench.link(SOLANA), bench.chains[SOLANA]
    chain.pay(1, "weldproof:" + "B" * 22, bench.memo(link))
    await bench.rounds(SOLANA)
    assert await bench.state(link) == LinkState.ACTIVE
    assert [(one["reason"], one["link_id"]) for one in await list_unmatched(bench)] == [("ambiguous_memo", link.id)]


async def test_what_is_left_of_a_transaction_is_listed(bench: Bench) -> None:
    """Solana: of three transfers under one memo one pays; the others are listed, once. A batch leaves nothing."""
    link, chain = await bench.link(SOLANA), bench.chains[SOLANA]
    chain.pay(1, bench.memo(link), values=(5, AMOUNT, AMOUNT + 1))
    pair = [await bench.link(SOLANA) for _ in range(2)]
    chain.pay(2, *(bench.memo(one) for one in pair), values=(AMOUNT, AMOUNT))
    for _ in range(2):
        await bench.rounds(SOLANA)
    assert [await bench.state(one) for one in (link, *pair)] == [LinkState.PAID] * 3
    entries_of = {(one["state"], one["reason"], one["amount"]) for one in await list_unmatched(bench)}
    assert entries_of == {("short", "wrong_amount", "5"), ("late", "paid", str(AMOUNT + 1))}
    assert len(await list_unmatched(bench)) == 2


async def test_what_is_shown_is_listed_at_once(bench: Bench) -> None:
    """A payer who shows a payment in another asset, or one that is not final, is not waited for by a search."""
    link, chain = await bench.link(BASE), bench.chains[BASE]
    for number, final in ((1, False), (2, True)):
        transaction = replace(in_other_asset(bench, link), final=final)
        await bench.watchers[BASE].note_misdirected(chain.tx_id(number), transaction)
    assert [one["tx_id"] for one in await list_unmatched(bench)] == [chain.tx_id(2)]


async def test_many_uses_and_tokens_are_looked_up_a_bounded_way(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction of a thousand memos and nonces costs no thousand questions to the database."""
    link, chain = await bench.link(BASE), bench.chains[BASE]
    calls: list[str] = []
    links = type(bench.settling.links)
    by_token, by_nonce = links.by_token, links.by_nonce

    def count_calls(original: Any) -> Any:
        def lookup(self: Any, text: str) -> Any:
            calls.append(text)
            return original(self, text)

        return lookup

    monkeypatch.setattr(links, "by_token", count_calls(by_token))
    monkeypatch.setattr(links, "by_nonce", count_calls(by_nonce))
    transaction = in_other_asset(bench, link)
    uses = tuple(AuthorizationUsed(1, OTHER_ASSET[BASE], PAYER["base"], nonce_of(str(n))) for n in range(1000))
    text = b"".join(b"weldproof:%022d " % number for number in range(1000))
    transaction = replace(
        transaction, authorizations_used=uses, called_contract=OTHER_ASSET[BASE], calldata=b"\0" * 68 + text
    )
    await bench.watchers[BASE].note_misdirected(chain.tx_id(1), transaction)
    assert len(calls) <= 1 + 3 * misdirected_payments.MOST_NAMED
