"""The limits of a tenant's trial: rules for the creation of a link, in their order (3.10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from reference.protocol.networks import Network
from reference.protocol.time_text import utc_text

KycStatus = Literal["trial", "approved", "rejected"]
TrialPlan = Literal["trial", "paid"]
KeyMode = Literal["test", "live"]


@dataclass(eq=False)  # not frozen: Python sets __traceback__ on an exception that passes through `async with`
class LinkRefused(Exception):
    """A link that the tenant may not create.

    Attributes:
        code: Why.
        context: Members that say more.
    """

    code: str
    context: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TenantStatus:
    """The facts about a tenant that the limits depend on.

    Attributes:
        kyc_status: The decision about it: trial, approved or rejected.
        plan: Its plan, trial or paid.
        trial_ends_at: End of its trial, unix seconds (P-TR-01).
        key_mode: Mode of the key that it sent.
        used_microunits: Sum of its links that are paid on mainnet (P-TR-06).
        allowance_microunits: Mainnet payments that an approved tenant may receive without a paid plan (P-TR-05).
    """

    kyc_status: str
    plan: str
    trial_ends_at: int
    key_mode: str
    used_microunits: int
    allowance_microunits: int


def admit_link(tenant: TenantStatus, network: Network, amount_microunits: int, *, now: int) -> None:
    """Refuse a link that the tenant may not create now.

    Raises:
        LinkRefused: By the first rule of 3.10 that does not hold.
    """
    # Only the creation of a link is limited. A confirmed payment is always honoured, so open links may carry the
    # sum past the allowance (P-TR-06).
    is_approved = tenant.kyc_status == "approved"
    if not network.is_test and not is_approved:
        raise LinkRefused("kyb_required_for_mainnet", {"network": network.key})
    if network.is_test and not is_approved and now >= tenant.trial_ends_at:
        raise LinkRefused("trial_expired", {"trial_ends_at": utc_text(tenant.trial_ends_at)})
    if tenant.key_mode != mode_of(network):
        raise LinkRefused("key_mode_mismatch", {"key_mode": tenant.key_mode, "network": network.key})
    if not network.is_test and tenant.plan == "trial" and _is_over(tenant, amount_microunits):
        figures = {"allowance_microunits": tenant.allowance_microunits, "used_microunits": tenant.used_microunits}
        raise LinkRefused("mainnet_allowance_exhausted", figures)


def mode_of(network: Network) -> KeyMode:
    """Return the mode of the keys that reach a network (P-AU-03)."""
    return "test" if network.is_test else "live"


def _is_over(tenant: TenantStatus, amount_microunits: int) -> bool:
    return tenant.used_microunits + amount_microunits > tenant.allowance_microunits
