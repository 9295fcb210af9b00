"""Names of the gateway that the interface leaves open, and the reference's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field

from conformance.oracles.receipts import STEPS
from conformance.target.chains import Chains
from conformance.target.grammar import keys_of, one_of
from conformance.target.placeholder_validation import placeholders
from conformance.target.tables import ProfilePath, Secret, Table
from conformance.vocabulary.lanes.registry import FACTS

Rate: TypeAlias = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?$")]
MEMO_WAYS: Final[Mapping[str, tuple[str, ...]]] = {name: lane.memo_ways for name, lane in FACTS.items()}
_TEST_NETWORKS: Final = tuple(lane.test.key for lane in FACTS.values())
MemoWays: TypeAlias = Annotated[Mapping[str, str], AfterValidator(one_of(MEMO_WAYS))]
Fixtures: TypeAlias = Annotated[Mapping[str, Mapping[str, Any]], AfterValidator(keys_of("ALLOW", "REFER", "DENY"))]
Selectors: TypeAlias = Annotated[
    Mapping[str, str], AfterValidator(keys_of("address", "memo", "amount", "qr", "expires", "state"))
]


class GatewayBindings(Table):
    """Names of the gateway that the interface leaves open. None means: discover it, else the row is `unbound`.

    Attributes:
        receipt_member: Member of the receipt verification's body that carries the receipt.
        receipt_hash_member: Member of the same body that tells which payment's hash the caller expects.
        jwks_path: Path of the gateway's key document.
        openapi_path: Path of the gateway's OpenAPI document.
        receipt_codes: The nine typed codes of receipt verification.
        create_status: Statuses of a creating call that succeeded; unbound, 200, 201 and 202 all are.
        idempotency_conflict: Statuses of a refused key with a changed body; unbound, any client error. The original
            passes in every case.
        error_codes: Error codes by their meaning; the report lists them, and they judge nothing.
        link_body: Further members that a payment link needs, or other values of the four that the interface names.
        currency: The code that prices a link in USDC, micro-unit for micro-unit.
        smallest_amount: The least that a link may be for, in USDC, as decimal text; unset, some links are for 0.01.
        longest_label: How many characters the label of a link may have; unset, the suite's have up to 500.
        rates: USDC per unit of a currency, as decimal text.
        resource_body: A body that creates a resource; `{unique}` in a text is different for each.
        screen_body: A body that is screened.
        screen_receipt_member: Member of the screening's answer that carries the receipt.
        screen_fixtures: Bodies by the verdict that their screening gives (ALLOW, REFER, DENY).
        receipt_file: A receipt signed by the platform's key, from the operator.
        memo: Where each lane's transaction carries the memo: `note` on `algorand`, `memo` on `solana`, `eip3009` or
            `calldata` on `base`.
        checkout_selectors: CSS selectors of the checkout page: address, memo, amount, qr, expires, state.
        trial: Figures of the trial, such as `days` and `allowance_microunits`.
        edge_url: Address of the edge host.
        limits: `raised` when the operator lifted the target's rate limits, so that they can be shown only by the
            service of `[limited.gateway]`.
    """

    receipt_member: str | None = None
    receipt_hash_member: str | None = None
    jwks_path: str | None = None
    openapi_path: str | None = None
    receipt_codes: tuple[str, ...] | None = None
    create_status: tuple[int, ...] | None = None
    idempotency_conflict: tuple[int, ...] | None = None
    error_codes: Mapping[str, str] | None = None
    link_body: Mapping[str, Any] = Field(default_factory=dict)
    currency: str = "USDC"
    smallest_amount: Rate | None = None
    longest_label: int | None = Field(default=None, ge=8)
    rates: Mapping[str, Rate] | None = None
    resource_body: Annotated[Mapping[str, Any] | None, placeholders("unique")] = None
    screen_body: Mapping[str, Any] | None = None
    screen_receipt_member: str | None = None
    screen_fixtures: Fixtures | None = None
    receipt_file: ProfilePath | None = None
    memo: MemoWays | None = None
    checkout_selectors: Selectors | None = None
    trial: Mapping[str, int] | None = None
    edge_url: str | None = None
    limits: Literal["default", "raised"] = "default"


# As `REFERENCE_RAIL`: the specification's choices, for the reference and for targets that claim it.
REFERENCE_GATEWAY = GatewayBindings(
    receipt_member="jws",
    receipt_hash_member="expected_payment_hash",
    jwks_path="/.well-known/jwks.json",
    openapi_path="/openapi.json",
    receipt_codes=STEPS,
    create_status=(201,),
    idempotency_conflict=(409,),
    rates={"USD": "1", "USDC": "1", "EUR": "1.08", "GBP": "1.27"},
    resource_body={"resource_id": "weldproof-{unique}", "amount_microunits": 250_000},
    screen_body={"recipient_address": "screen-allow", "network": _TEST_NETWORKS[0]},
    screen_receipt_member="compliance_receipt_jws",
    screen_fixtures={
        "ALLOW": {"recipient_address": "screen-allow", "network": _TEST_NETWORKS[0]},
        "REFER": {"recipient_address": "screen-flag", "network": _TEST_NETWORKS[1]},
        "DENY": {"recipient_address": "screen-block", "network": _TEST_NETWORKS[2]},
    },
    memo={lane: ways[0] for lane, ways in MEMO_WAYS.items()},
    checkout_selectors={
        "address": "#addr",
        "memo": "#memo",
        "amount": "#amount",
        "qr": "#qr",
        "expires": "#expires",
        "state": "#state",
    },
    trial={"days": 60, "allowance_microunits": 1_000_000_000},
)


class Gateway(GatewayBindings):
    """The gateway's bindings, the nodes that checkout payments are made on, and its administrator's key.

    Attributes:
        chains: Nodes of checkout payments by lane, in tables like those of `[chains]`; a lane that is left out has the
            node of `[chains]`.
        admin_key: An administrator's key, with which a gateway that claims `gateway.tenants` has tenants made.
    """

    chains: Chains = Chains()
    admin_key: Secret | None = None
