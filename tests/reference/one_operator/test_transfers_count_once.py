"""A transfer counts once for an operator, whatever it runs, on one database or on several (decision record 0045)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from eth_utils.crypto import keccak
from solders.instruction import Instruction
from solders.keypair import Keypair

from tests.reference.one_operator.selling import (
    Link,
    Operator,
    Task,
    opened_database,
    read_quote,
    reference_of,
    serves,
    settles,
)
from tests.reference.rail.base_stack import PRICE, BasePayer
from tests.reference.rail.rail_stack import Payer
from tests.reference.rail.solana_stack import SolanaPayer

ALGORAND, BASE, SOLANA = "algorand_mainnet", "base_mainnet", "solana_mainnet"

Around = Callable[[SolanaPayer, str, Link, str], list[Instruction]]
# One transfer of the price that could pay for a call (its reference: the last argument) and a link.
FOR_BOTH: dict[str, Around] = {
    "memo and reference": lambda payer, to, link, welded: [
        payer.memo(link.memo),
        payer.order(to, PRICE, welded),
    ],
    "memo behind": lambda payer, to, link, welded: [
        payer.order(to, PRICE, welded),
        payer.memo(link.memo),
    ],
    "both references, the call's first": lambda payer, to, link, welded: [
        payer.memo(link.memo),
        payer.order(to, PRICE, welded, link.reference),
    ],
    "both references, the link's first": lambda payer, to, link, welded: [
        payer.memo(link.memo),
        payer.order(to, PRICE, link.reference, welded),
    ],
    "a unit beside": lambda payer, to, link, welded: [
        payer.memo(link.memo),
        payer.order(to, PRICE, welded),
        payer.order(to, 1),
    ],
    "a unit beside for the link": lambda payer, to, link, welded: [
        payer.memo(link.memo),
        payer.order(to, 1, link.reference),
        payer.order(to, PRICE, welded),
    ],
}


@pytest.mark.parametrize("first", ["call", "link"])
def test_a_transfer_buys_a_call_or_pays_a_link(operator: Operator, first: str) -> None:
    """One Solana transfer with a call's reference and a link's memo does one of the two; the first service decides."""
    rail, shop = operator.rail(), operator.gateway()
    tenant, payer = operator.tenant(shop), SolanaPayer(operator.solana)
    for what, around in FOR_BOTH.items():
        entry, link = read_quote(rail, SOLANA), operator.link(shop, tenant, SOLANA)
        tx_id = payer.send(*around(payer, operator.payees[SOLANA], link, reference_of(entry)))
        if first == "call":
            purchases = [serves(rail, entry, tx_id), link.is_paid_by(tx_id)]
        else:
            purchases = [link.is_paid_by(tx_id), serves(rail, entry, tx_id)]
        assert sum(purchases) == 1, what


def test_two_transfers_of_a_transaction_buy_a_call_and_pay_a_link(operator: Operator) -> None:
    """A payer that pays for both in one transaction, as each asks, gets both; with the QR code's reference or not."""
    rail, shop = operator.rail(), operator.gateway()
    tenant, payer, to = operator.tenant(shop), SolanaPayer(operator.solana), operator.payees[SOLANA]
    for by_code, turned in itertools.product((True, False), repeat=2):
        entry, link = read_quote(rail, SOLANA), operator.link(shop, tenant, SOLANA)
        report = [link.reference] if by_code else []
        transfers = [payer.order(to, PRICE, reference_of(entry)), payer.order(to, PRICE, *report)]
        tx_id = payer.send(payer.memo(link.memo), *transfers[:: 1 if turned else -1])
        assert [serves(rail, entry, tx_id), link.is_paid_by(tx_id)] == [True, True]


def test_wallets_may_name_accounts_of_their_own(operator: Operator) -> None:
    """A link is paid although the wallet adds an account, and a call is bought with one behind its reference."""
    rail, shop = operator.rail(), operator.gateway()
    tenant, payer, to = operator.tenant(shop), SolanaPayer(operator.solana), operator.payees[SOLANA]
    own = str(Keypair().pubkey())
    for named in ((), ("link",), (own,), ("link", own), (own, "link")):
        link = operator.link(shop, tenant, SOLANA)
        accounts = [link.reference if one == "link" else one for one in named]
        assert link.is_paid_by(payer.send(payer.memo(link.memo), payer.order(to, PRICE, *accounts))), named
    entry = read_quote(rail, SOLANA)
    tx_id = payer.send(payer.memo("thank you"), payer.order(to, PRICE, reference_of(entry), own))
    assert serves(rail, entry, tx_id)


def test_a_transfer_buys_one_call_of_two_rails(operator: Operator) -> None:
    """A Solana transfer that names the references of two rails, or of REST and A2A, buys one call."""
    first_rail, second_rail = operator.rail(), operator.rail()
    payer, to = SolanaPayer(operator.solana), operator.payees[SOLANA]
    for turned in (False, True):
        first, second = read_quote(first_rail, SOLANA), read_quote(second_rail, SOLANA)
        references = [reference_of(first), reference_of(second)]
        tx_id = payer.send(payer.order(to, PRICE, *(references[::-1] if turned else references)))
        assert sum([serves(first_rail, first, tx_id), serves(second_rail, second, tx_id)]) == 1
    entry, task = read_quote(first_rail, SOLANA), Task.open(second_rail)
    tx_id = payer.send(payer.order(to, PRICE, reference_of(entry), reference_of(task.entry(SOLANA))))
    assert sum([task.is_served(SOLANA, tx_id), serves(first_rail, entry, tx_id)]) == 1


def test_a_transfer_pays_one_of_two_links(operator: Operator) -> None:
    """A Solana transfer under two memos pays one link: of a tenant, of two with one address, of two gateways."""
    shop, second_gateway = operator.gateway(), operator.gateway()
    tenants = (operator.tenant(shop), operator.tenant(shop), operator.tenant(second_gateway))
    payer, to = SolanaPayer(operator.solana), operator.payees[SOLANA]
    for place, where in ((0, shop), (1, shop), (2, second_gateway)):
        for beside in ((), (1,)):
            mine, theirs = operator.link(shop, tenants[0], SOLANA), operator.link(where, tenants[place], SOLANA)
            units = [payer.order(to, amount) for amount in beside]
            tx_id = payer.send(payer.memo(mine.memo), payer.memo(theirs.memo), payer.order(to, PRICE), *units)
            assert sum([theirs.is_paid_by(tx_id), mine.is_paid_by(tx_id)]) == 1, (place, beside)


def test_two_transfers_pay_links_of_two_gateways(operator: Operator) -> None:
    """Who pays links of two gateways in one transaction pays both: in their order, or each by its reference."""
    shop, second_gateway = operator.gateway(), operator.gateway()
    first_tenant, second_tenant = operator.tenant(shop), operator.tenant(second_gateway)
    payer, to = SolanaPayer(operator.solana), operator.payees[SOLANA]
    for by_code in (False, True):
        mine, theirs = operator.link(shop, first_tenant, SOLANA), operator.link(second_gateway, second_tenant, SOLANA)
        report = [[one.reference] if by_code else [] for one in (mine, theirs)]
        transfers = [payer.order(to, PRICE, *one) for one in report]
        tx_id = payer.send(payer.memo(mine.memo), payer.memo(theirs.memo), *(transfers[::-1] if by_code else transfers))
        assert [mine.is_paid_by(tx_id), theirs.is_paid_by(tx_id)] == [True, True]


def test_on_algorand_a_note_is_for_one_purchase(operator: Operator) -> None:
    """A token's note pays no link and a memo's note buys no call; nor does one of both."""
    rail, second_rail, shop = operator.rail(), operator.rail(), operator.gateway()
    tenant, payer = operator.tenant(shop), Payer(operator.algorand)
    for note in ("{token}", "{memo}", "{memo} {token}", "{token}{memo}"):
        entry, foreign, link = (
            read_quote(rail, ALGORAND),
            read_quote(second_rail, ALGORAND),
            operator.link(shop, tenant, ALGORAND),
        )
        text = note.format(token=entry["extra"]["payment_reference"], memo=link.memo)
        tx_id = payer.transfer(receiver=operator.payees[ALGORAND], amount=PRICE, note=text.encode())
        purchases = [serves(rail, entry, tx_id), serves(second_rail, foreign, tx_id), link.is_paid_by(tx_id)]
        assert sum(purchases) == (note in {"{token}", "{memo}"}), note


def test_on_base_a_nonce_is_for_one_purchase(operator: Operator) -> None:
    """A token's nonce pays no link and a memo's buys no call, of this rail or another."""
    rail, second_rail, shop = operator.rail(), operator.rail(), operator.gateway()
    tenant, payer = operator.tenant(shop), BasePayer(operator.base)
    for text in ("token", "memo"):
        entry, foreign, link = read_quote(rail, BASE), read_quote(second_rail, BASE), operator.link(shop, tenant, BASE)
        report = entry["extra"]["payment_reference"] if text == "token" else link.memo
        proof = payer.authorize(entry, nonce=keccak(report.encode()))
        tx_id = payer.use(proof)
        other_proof = {**proof, "challenge_token": foreign["extra"]["payment_reference"]}
        assert sum([settles(rail, proof), settles(second_rail, other_proof), link.is_paid_by(tx_id)]) == 1, text


def test_the_database_decides_between_a_call_and_a_link(new_operator: Operator) -> None:
    """A rail of another service word reads no memo of the checkout's: the table decides, also of both at once."""
    operator = new_operator
    rail, shop = operator.new_rail(WP_SERVICE_WORD="Otherword"), operator.gateway()
    tenant, payer, to = operator.tenant(shop), SolanaPayer(operator.solana), operator.payees[SOLANA]
    for _ in range(6):
        entry, link = read_quote(rail, SOLANA), operator.link(shop, tenant, SOLANA)
        tx_id = payer.send(payer.memo(link.memo), payer.order(to, PRICE, reference_of(entry)))
        with ThreadPoolExecutor(2) as pool:
            call = pool.submit(serves, rail, entry, tx_id)
            pending_call = pool.submit(link.is_paid_by, tx_id)
            purchases = [call.result(), pending_call.result()]
        assert sum(purchases) == 1
        assert serves(rail, entry, tx_id) is purchases[0]


def test_what_was_bought_before_counts(new_operator: Operator) -> None:
    """A call and a link that were sold before the table was kept are listed when a surface starts."""
    operator = new_operator
    rail, shop = operator.new_rail(WP_SERVICE_WORD="Otherword"), operator.gateway()
    tenant, payer, to = operator.tenant(shop), SolanaPayer(operator.solana), operator.payees[SOLANA]
    sales = []
    for first in ("call", "link"):
        entry, link = read_quote(rail, SOLANA), operator.link(shop, tenant, SOLANA)
        tx_id = payer.send(payer.memo(link.memo), payer.order(to, PRICE, reference_of(entry)))
        assert serves(rail, entry, tx_id) if first == "call" else link.is_paid_by(tx_id)
        sales.append((entry, link, tx_id))
    rail.stop()
    shop.stop()
    with opened_database(operator.dsn) as connection:
        connection.execute("DROP TABLE used_transfers")
    rail.start()
    shop.start().ready()
    (_, link, tx_id), (entry, _, other_id) = sales
    assert link.verify(tx_id).json()["reason"] == "transfer_used"
    assert not serves(rail, entry, other_id)
