"""Payment links and their ends on a database of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference.protocol.link_payment import LinkEnding
from reference.protocol.service_word import ServiceWord
from reference.store.database import Database, DuplicateKey
from reference.store.links import Link, Links

LINK = Link(
    id="11111111-1111-4111-8111-111111111111",
    tenant_id="t-1",
    token="AAECAwQFBgcICQoLDA0ODw",
    network="base_mainnet",
    amount_microunits=8_410_000,
    pay_to="0x00000000000000000000000000000000000000aa",
    label="Order 7",
    redirect_url=None,
    cancel_digest="00" * 32,
    created_at=1_000,
    expires_at=2_000,
)
OTHER = replace(
    LINK, id="22222222-2222-4222-8222-222222222222", token="other", network="base_sepolia", created_at=1_500
)


@pytest.fixture
async def links(database: Database) -> Links:
    new_links = Links(database, ServiceWord())
    await new_links.prepare()
    return new_links


async def test_a_link_is_found_by_its_token_and_by_the_nonce_of_its_memo(links: Links, database: Database) -> None:
    """A link is found by its token and by keccak-256 of its memo."""
    await database.change_all(links.build_insert(LINK))
    assert await links.by_token(LINK.token) == LINK
    assert await links.by_nonce("0x57887b9466581c1b94799bb3f12ab0d691a4c2e51bf94517a9042489ca6033fe") == LINK
    assert await links.by_token("AAECAwQFBgcICQoLDA0ODW") is None
    assert await links.state(LINK.id) == "active"


async def test_a_token_is_given_once(links: Links, database: Database) -> None:
    """A second link with the same token is refused."""
    await database.change_all(links.build_insert(LINK))
    with pytest.raises(DuplicateKey):
        await database.change_all(links.build_insert(replace(LINK, id=OTHER.id)))


async def test_a_link_ends_once(links: Links, database: Database) -> None:
    """The first end of a link is its end for ever."""
    await database.change_all(links.build_insert(LINK))
    await database.change_all(*links.build_end(LINK.id, LinkEnding.CALLED_OFF, now=1_100, watched_until=1_200))
    with pytest.raises(DuplicateKey):
        await database.change_all(*links.build_end(LINK.id, LinkEnding.PAYMENT_FINAL, now=1_101, watched_until=9_999))
    assert await links.state(LINK.id) == "cancelled"
    assert [(one.link.id, one.state) for one in await links.of_tenant("t-1")] == [(LINK.id, "cancelled")]


async def test_only_links_without_an_end_become_due(links: Links, database: Database) -> None:
    """A link is due after its expiry, in which it may still be paid, until it has an end."""
    await database.change_all(links.build_insert(LINK))
    assert await links.due(LINK.network, LINK.pay_to, now=2_000) == []
    assert await links.due(LINK.network, LINK.pay_to, now=2_001) == [LINK]
    assert await links.due(OTHER.network, LINK.pay_to, now=2_001) == []
    await database.change_all(*links.build_end(LINK.id, LinkEnding.TIME_OVER, now=2_001, watched_until=3_000))
    assert await links.due(LINK.network, LINK.pay_to, now=2_001) == []


async def test_addresses_are_watched_while_a_link_is_active_and_a_while_longer(
    links: Links, database: Database
) -> None:
    """A payout address is watched for active links, and for ended ones as long as they are watched."""
    older = replace(LINK, id="33333333-3333-4333-8333-333333333333", token="older", created_at=900)
    await database.change_all(links.build_insert(LINK), links.build_insert(OTHER), links.build_insert(older))
    place = (LINK.network, LINK.pay_to)
    assert await links.addresses(LINK.network, now=50_000) == [LINK.pay_to]
    assert await links.oldest(*place, now=50_000) == 900
    assert (await links.has_active(*place), await links.last_watch(*place)) == (True, None)
    await database.change_all(*links.build_end(older.id, LinkEnding.TIME_OVER, now=2_001, watched_until=3_000))
    assert (await links.oldest(*place, now=3_000), await links.oldest(*place, now=3_001)) == (900, 1_000)
    await database.change_all(*links.build_end(LINK.id, LinkEnding.PAYMENT_FINAL, now=2_001, watched_until=4_000))
    assert (await links.has_active(*place), await links.last_watch(*place)) == (False, 4_000)
    assert await links.addresses(LINK.network, now=4_000) == [LINK.pay_to]
    assert await links.addresses(LINK.network, now=4_001) == []
    assert await links.oldest(*place, now=4_001) is None


async def test_new_links_name_their_addresses(links: Links, database: Database) -> None:
    """What was created since a time is found on its own network."""
    await database.change_all(links.build_insert(LINK), links.build_insert(OTHER))
    assert await links.new_addresses(LINK.network, since=1_000) == [LINK.pay_to]
    assert await links.new_addresses(LINK.network, since=1_001) == []
    assert await links.new_addresses(OTHER.network, since=1_001) == [OTHER.pay_to]


async def test_the_mainnet_sum_counts_paid_links_on_mainnet_alone(links: Links, database: Database) -> None:
    """What a tenant was paid on mainnet is the sum of his paid links there (P-TR-06)."""
    third = replace(LINK, id="33333333-3333-4333-8333-333333333333", token="third", amount_microunits=1)
    strange = replace(LINK, id="44444444-4444-4444-8444-444444444444", token="strange", tenant_id="t-2")
    await database.change_all(*(links.build_insert(one) for one in (LINK, OTHER, third, strange)))
    assert await links.paid_on_mainnet("t-1") == 0
    for one in (LINK, OTHER, strange):
        await database.change_all(*links.build_end(one.id, LinkEnding.PAYMENT_FINAL, now=1_100, watched_until=1_200))
    await database.change_all(*links.build_end(third.id, LinkEnding.CALLED_OFF, now=1_100, watched_until=1_200))
    assert await links.paid_on_mainnet("t-1") == 8_410_000
