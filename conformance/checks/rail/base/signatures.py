"""RAIL-PAY-12: signatures on Base that are invalid, by another key, over other content, or in another form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from conformance.assertions.rail.base.funded_challenges import FundedChallenge, FundedChallenges, get_base_payer
from conformance.assertions.rail.refusals import require_honest_payment_served
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.lanes.base.authorization import Authorization
from conformance.lanes.base.payer import BasePayer
from conformance.lanes.base.token import encode_own_call

Change = Callable[[Authorization], Authorization]
Spelling = Callable[[Authorization], Mapping[str, Any]]


@check(
    "RAIL-PAY-12",
    surface="rail",
    lane="base",
    fix="Recover the signer from the EIP-712 message under the asset's own domain and compare it with from.",
)
async def signature_of_somebody_else(case: Case) -> None:
    """A signature that does not recover to the payer of the authorization is not redeemed.

    Presents welded authorizations whose signature is noise, cut short, by another key, over another domain (name,
    version, chain id, contract, or another network's whole domain), over another kind of message, or over other
    members. Also presents one by another payer with the payer's address put in. Expects that none is served, and that
    none is cashed.
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    noise = case.rng.randbytes(64)
    forgeries = _Forgeries(payer, stakes, operation, (await payer.new_account()).address)
    # An authorization for the other network is worthless there for this payee, and free of charge on a test network.
    other_chain = 84532 if payer.caip2 == "eip155:8453" else 8453
    domains = (
        ("name", "USDC Coin"),
        ("version", "1"),
        ("chain_id", 1),
        ("chain_id", other_chain),
        ("contract", forgeries.stranger),
    )
    # The signature is over the changed member, and the proof shows the right one: a rail that signs nothing back in is
    # fooled.
    members = (("value", -1), ("to", 0), ("valid_after", 1), ("valid_before", 60))
    await run_concurrently(
        (
            *(
                forgeries.present_changed(description, change)
                for description, change in list_signature_changes(noise).items()
            ),
            *(forgeries.present_other_domain(member, value) for member, value in domains),
            *(forgeries.present_other_member(*other) for other in members),
            forgeries.present_other_key("another key signs for the payer", signs_for_payer=True),
            forgeries.present_other_key("another payer's authorization, the payer put in", signs_for_payer=False),
            forgeries.present_other_kind(),
            forgeries.present_other_network(),
        )
    )
    await stakes.audit()


@dataclass(frozen=True, slots=True)
class _Forgeries:
    """Welded authorizations that are presented with a signature over other content or by another key.

    Attributes:
        payer: Makes the authorizations.
        stakes: The challenges with funded accounts.
        operation: The operation that they are presented for.
        stranger: An unrelated address.
    """

    payer: BasePayer
    stakes: FundedChallenges
    operation: Operation
    stranger: str

    async def present_changed(self, description: str, change: Change) -> None:
        stake = await self.stakes.open_challenge(self.operation)
        await self.stakes.judge_buys_nothing("RAIL-PAY-12", stake, change(await stake.sign()), description)

    async def present_other_domain(self, member: str, value: Any) -> None:
        stake = await self.stakes.open_challenge(self.operation)
        authorization = await stake.sign(domain=replace(self.payer.domain(stake.entry), **{member: value}))
        await self.stakes.judge_buys_nothing("RAIL-PAY-12", stake, authorization, f"domain: {member} {value}")

    async def present_other_network(self) -> None:
        stake = await self.stakes.open_challenge(self.operation)
        other_domain = replace(self.payer.domain(stake.entry), **OTHER_NETWORK[self.payer.caip2 == "eip155:8453"])
        description = "domain: the same asset's on the other network, whole"
        await self.stakes.judge_buys_nothing("RAIL-PAY-12", stake, await stake.sign(domain=other_domain), description)

    async def present_other_member(self, member: str, shift: Any) -> None:
        stake = await self.stakes.open_challenge(self.operation)
        right_authorization = await stake.sign()
        right_value = getattr(right_authorization, member)
        other_value = self.stranger if member == "to" else right_value + shift
        authorization = (
            right_authorization.with_changes(**{member: other_value})
            .sign(stake.account.key)
            .with_changes(**{member: right_value})
        )
        await self.stakes.judge_buys_nothing("RAIL-PAY-12", stake, authorization, f"signed over another {member}")

    async def present_other_key(self, description: str, *, signs_for_payer: bool) -> None:
        stake, thief = await self.stakes.open_challenge(self.operation), self.payer.node.account()
        sender = stake.account.address if signs_for_payer else thief.address
        authorization = await stake.sign(sender=sender, key=thief.key)
        await self.stakes.judge_buys_nothing(
            "RAIL-PAY-12", stake, authorization.with_changes(sender=stake.account.address), description
        )

    async def present_other_kind(self) -> None:
        stake = await self.stakes.open_challenge(self.operation)
        authorization = (await stake.sign()).sign(stake.account.key, kind="ReceiveWithAuthorization")
        await self.stakes.judge_buys_nothing("RAIL-PAY-12", stake, authorization, "signed as ReceiveWithAuthorization")


# USDC's EIP-712 domains on the test network and on Base. The key is whether the payer is on Base: it signs for the
# other.
OTHER_NETWORK: Mapping[bool, Mapping[str, Any]] = {
    True: {"name": "USDC", "chain_id": 84532, "contract": "0x036CbD53842c5426634e7929541eC2318f3dCF7e"},
    False: {"name": "USD Coin", "chain_id": 8453, "contract": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"},
}


def list_signature_changes(noise: bytes) -> dict[str, Change]:
    """Return changes after which a signature is invalid or recovers to another address."""
    return {
        "noise": lambda given: given.with_changes(signature=noise + given.signature[64:]),
        # ecrecover returns the zero address for a malformed signature. A rail that compares carelessly
        # accepts it.
        "zeros": lambda given: given.with_changes(signature=bytes(64) + b"\x1b"),
        "the other v": lambda given: given.with_recovery(55 - given.signature[64]),
        "r and s exchanged": lambda given: given.with_changes(
            signature=given.signature[32:64] + given.signature[:32] + given.signature[64:]
        ),
        "cut short": lambda given: given.with_changes(signature=given.signature[:32]),
    }


@check(
    "RAIL-PAY-12",
    surface="rail",
    lane="base",
    fix="Refuse a signature with s in the upper half, and one that is not 65 bytes with v 27, 28, 0 or 1.",
)
async def signature_of_another_form(case: Case) -> None:
    """A signature in a form that the token's contract would not accept is refused, or settled in another form.

    Presents welded authorizations whose signature is the malleable twin (s in the upper half, the other v), has 64
    bytes (EIP-2098), or has another v (26, 29, 35). Depending on the library they recover to the payer or to no
    address. Expects a refusal, or the service for exactly one price.
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    forms: dict[str, Change] = {
        # For each ECDSA signature (r, s) the pair (r, n - s) is valid as well. USDC's contract rejects the second
        # form.
        "the malleable twin": Authorization.with_other_s,
        "the malleable twin, v as 0 or 1": lambda given: given.with_other_s().with_recovery(
            given.with_other_s().signature[64] - 27
        ),
        "64 bytes": Authorization.compact,
        **{f"v {v}": partial(Authorization.with_recovery, v=v) for v in (26, 29, 35)},
    }

    async def attempt(description: str, change: Change) -> None:
        stake = await stakes.open_challenge(operation)
        await stakes.judge_free_or_paid("RAIL-PAY-12", stake, change(await stake.sign()), description)

    await run_concurrently(attempt(description, change) for description, change in forms.items())


@check(
    "RAIL-PAY-12",
    surface="rail",
    lane="base",
    fix="Refuse a payer that is a contract, or serve it only after its settlement is in a block.",
)
async def payer_that_is_a_contract(case: Case) -> None:
    """A contract wallet's authorization (ERC-1271) is refused, or served for exactly one price.

    Deploys a wallet that accepts its owner's signatures, and gives it the price. Presents its authorization: signed by
    the owner, signed by another key, and signed by the owner after the wallet was set to reject every signature. The
    first may be served for its price. Expects that the others are not served.
    """
    payer = await get_base_payer(case)
    if not payer.has_control:
        case.mark_documented("RAIL-PAY-12", "money that is given to a contract wallet could not be given back")
        return
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)

    async def deploy_wallet(*, rejects_all: bool = False) -> FundedChallenge:
        wallet_address = await payer.deploy("ContractWallet")
        stake = await stakes.open_challenge(operation, account=replace(payer.main, address=wallet_address))
        await payer.give(wallet_address, stake.token.address, stake.price)
        if rejects_all:
            await payer.send(wallet_address, encode_own_call("ContractWallet", "hush", True))
        await stake.accept_balance()
        return stake

    stake = await deploy_wallet()
    forged_authorization = await stake.sign(key=payer.node.account().key)
    await stakes.judge_buys_nothing(
        "RAIL-PAY-12", stake, forged_authorization, "a contract wallet, a stranger's signature"
    )
    stake = await deploy_wallet(rejects_all=True)
    await stakes.judge_buys_nothing(
        "RAIL-PAY-12", stake, await stake.sign(), "a contract wallet that agrees with nothing"
    )
    stake = await deploy_wallet()
    await stakes.judge_free_or_paid(
        "RAIL-PAY-12", stake, await stake.sign(), "a contract wallet, its owner's signature"
    )
    await stakes.audit()
