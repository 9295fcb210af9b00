"""Tenants on both databases: changes that belong together are made together, also under concurrency (3.9, P-AU-04)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from reference.store.database import Database, DuplicateKey
from reference.store.tenants import ApiKey, Tenant, Tenants

NOW = 1_800_000_000
TENANT = Tenant("t-1", "shop", "trial", "trial", NOW, NOW + 60)
KEY = ApiKey("k-0", "t-1", "test", "0" * 64, NOW)


@pytest.fixture
async def tenants(database: Database) -> Tenants:
    """One tenant with one key."""
    new_tenants = Tenants(database)
    await new_tenants.prepare()
    await new_tenants.add(TENANT, KEY)
    return new_tenants


def fresh(number: int) -> ApiKey:
    return replace(KEY, id=f"k-{number}", digest=f"{number:064x}")


async def test_a_key_is_rotated_once(tenants: Tenants) -> None:
    """Of ten who rotate one key at the same moment one gets a new key, and the others leave nothing behind."""
    outcomes = await asyncio.gather(*(tenants.rotate_key("k-0", fresh(n), until=NOW + n) for n in range(1, 11)))
    assert sorted(outcomes) == [False] * 9 + [True]
    old, new = await tenants.keys("t-1")
    assert old.valid_until == NOW + int(new.id.removeprefix("k-"))


async def test_a_key_does_not_lapse_without_its_successor(tenants: Tenants) -> None:
    """Where the new key cannot be added the old one stays as it is."""
    await tenants.add_key(fresh(1))
    with pytest.raises(DuplicateKey):
        await tenants.rotate_key("k-0", fresh(1), until=NOW + 5)
    assert {one.id: one.valid_until for one in await tenants.keys("t-1")} == {"k-0": None, "k-1": None}


async def test_a_deleted_key_has_no_successor(tenants: Tenants) -> None:
    """A key that was deleted meanwhile is not rotated, nor one of another tenant."""
    assert not await tenants.rotate_key("k-0", replace(fresh(1), tenant_id="t-2"), until=NOW + 5)
    assert await tenants.revoke_key("t-1", "k-0", now=NOW)
    assert not await tenants.rotate_key("k-0", fresh(2), until=NOW + 5)
    assert [one.id for one in await tenants.keys("t-1")] == ["k-0"]


async def test_lists_of_addresses_replace_each_other_whole(tenants: Tenants) -> None:
    """Ten who replace the list at once all succeed, and one of their lists stands."""
    lists = [{"algorand_testnet": f"a{n}", "base_sepolia": f"b{n}"} for n in range(10)]
    await asyncio.gather(*(tenants.replace_payouts("t-1", one) for one in lists))
    assert await tenants.payouts("t-1") in lists
