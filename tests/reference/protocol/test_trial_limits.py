"""Trial rules: which link a tenant may create, the first rule that does not hold deciding (3.10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reference.protocol.networks import NETWORKS
from reference.protocol.trial_limits import LinkRefused, TenantStatus, admit_link

ENDS = 1_800_000_000
TRIAL = TenantStatus("trial", "trial", ENDS, "test", 0, 10**9)
APPROVED_TENANT = replace(TRIAL, kyc_status="approved", key_mode="live")
TEST, MAIN = NETWORKS["base_sepolia"], NETWORKS["base_mainnet"]


def refusal(tenant: TenantStatus, network: Any, amount: int = 1, now: int = ENDS - 1) -> LinkRefused | None:
    """Return why a link is refused."""
    try:
        admit_link(tenant, network, amount, now=now)
    except LinkRefused as refused:
        return refused
    return None


@pytest.mark.parametrize(
    ("tenant", "network", "amount", "now", "code"),
    [
        (TRIAL, TEST, 10**15, ENDS - 1, None),
        (TRIAL, TEST, 1, ENDS, "trial_expired"),
        (replace(TRIAL, kyc_status="rejected"), TEST, 1, ENDS - 1, None),
        (replace(TRIAL, kyc_status="approved"), TEST, 1, ENDS + 10**9, None),
        (TRIAL, MAIN, 1, ENDS - 1, "kyb_required_for_mainnet"),
        (replace(TRIAL, key_mode="live"), MAIN, 1, ENDS, "kyb_required_for_mainnet"),
        (replace(TRIAL, key_mode="live"), TEST, 1, ENDS, "trial_expired"),
        (replace(TRIAL, key_mode="live"), TEST, 1, ENDS - 1, "key_mode_mismatch"),
        (replace(APPROVED_TENANT, key_mode="test"), MAIN, 10**15, ENDS, "key_mode_mismatch"),
        (APPROVED_TENANT, MAIN, 10**9, ENDS + 10**9, None),
        (APPROVED_TENANT, MAIN, 10**9 + 1, ENDS, "mainnet_allowance_exhausted"),
        (replace(APPROVED_TENANT, used_microunits=10**9), MAIN, 1, ENDS, "mainnet_allowance_exhausted"),
        (replace(APPROVED_TENANT, used_microunits=10**12, plan="paid"), MAIN, 10**15, ENDS, None),
    ],
)
def test_the_first_rule_that_does_not_hold_decides(
    tenant: TenantStatus, network: Any, amount: int, now: int, code: str | None
) -> None:
    """Approval, end of the trial, mode of the key, allowance: in this order."""
    error = refusal(tenant, network, amount, now)
    assert code == (None if error is None else error.code)


def test_a_refusal_says_the_figures() -> None:
    """The tenant can see what is used up and when the trial ended."""
    error = refusal(replace(APPROVED_TENANT, used_microunits=5), MAIN, 10**9)
    assert error is not None
    assert error.context == {"allowance_microunits": 10**9, "used_microunits": 5}
    over = refusal(TRIAL, TEST, now=ENDS)
    assert over is not None
    assert over.context == {"trial_ends_at": "2027-01-15T08:00:00Z"}
