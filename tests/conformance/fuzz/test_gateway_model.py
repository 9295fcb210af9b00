"""The model that a fuzzed gateway is compared with has its own limits to the second; a walk seldom comes near one."""

from __future__ import annotations

import pytest

from tests.conformance.fuzz.gateway_model import ALLOWANCE, Gateway, Key, Refusal, Tenant

TESTNET, MAINNET = "algorand_testnet", "algorand_mainnet"
ENDS = 1_000.0


def tenant(**members: object) -> Tenant:
    """Return a tenant on both networks whose trial ends at `ENDS`."""
    new_tenant = Tenant("t", ENDS, networks=(TESTNET, MAINNET))
    for name, value in members.items():
        setattr(new_tenant, name, value)
    return new_tenant


@pytest.mark.parametrize(
    ("now", "is_approved", "refusal"),
    [
        (ENDS - 1, False, None),
        (ENDS, False, Refusal(403, "trial_expired")),
        (ENDS + 1, False, Refusal(403, "trial_expired")),
        (ENDS, True, None),
    ],
)
def test_a_trial_ends_when_it_says(now: float, is_approved: bool, refusal: Refusal | None) -> None:
    """At its second no link of a test network is made any more, but for whom was approved."""
    found = Gateway().link_refusal(tenant(approved=is_approved), Key("k", "test"), TESTNET, 1, now)
    assert found == refusal


@pytest.mark.parametrize(
    ("amount", "refusal"), [(ALLOWANCE - 5, None), (ALLOWANCE - 4, Refusal(403, "mainnet_allowance_exhausted"))]
)
def test_the_allowance_of_a_trial_is_used_up_whole(amount: int, refusal: Refusal | None) -> None:
    """What was paid counts, and the last unit may be asked for."""
    trial_tenant = tenant(approved=True, paid_on_mainnet=5)
    assert Gateway().link_refusal(trial_tenant, Key("k", "live"), MAINNET, amount, ENDS) == refusal


@pytest.mark.parametrize(("now", "good"), [(ENDS - 1, True), (ENDS, False)])
def test_a_key_is_good_until_its_second(now: float, good: bool) -> None:
    """A key that was replaced is refused from that second on."""
    key = Key("k", "test", until=ENDS)
    key_owner = tenant(keys={"a": key})
    refusal = Gateway(tenants=[key_owner]).credential_refusal(key_owner, key, now)
    assert (refusal is None) == good
