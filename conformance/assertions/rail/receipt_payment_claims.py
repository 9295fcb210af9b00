"""A receipt's claims about its payment, compared with the real payment on the chain and not with the server's word.

A proof on a mined lane names its transaction. If the rail settles, the chain is queried for the transaction that used
the authorization. The answer's header is believed only if the chain shows none.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.engine.check import Case
from conformance.lanes.descriptor import Payer, SettledByRail
from conformance.oracles import hash_recipes
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.rail.purchase import Purchase, lane_of

ROW: Final = "RAIL-RCPT-06"
HEADER_TRANSACTION: Final = "the transaction of its own header is the one that settled"
_HEADER_OPEN: Final = OpenPoint("no sentence of the interface promises the header or what it names", "5.9")
_CLAIMS_OPEN: Final = OpenPoint("the interface leaves a receipt's other claims open", "2.3")
_TX_ID: Final = re.compile(r"(?:0x)?[0-9a-fA-F]{64}")
# Seconds. The suite's node may be behind the rail's, so it is queried again for four seconds, twice a second.
_BEHIND_SECONDS, _PAUSE_SECONDS = 4.0, 0.5
# The forms of assets and addresses of the known families of chains. Texts of different forms are not
# compared.
_FORMS: Final = tuple(
    map(re.compile, (r"0x[0-9a-fA-F]{40}", r"[0-9]{1,20}", r"[A-Z2-7]{58}", r"[1-9A-HJ-NP-Za-km-z]{32,44}"))
)
_AMOUNT: Final = re.compile(r"[0-9]{1,30}")
# Claims by the family's own names whose value must differ for each payment.
_UNIQUE_CLAIMS: Final = ("settled_payment_ref", "payment_reference_hash")


@dataclass(frozen=True, slots=True)
class Settlement:
    """The transaction that paid.

    Attributes:
        tx_id: Its id; None if neither the chain nor the answer has it.
        named_id: The transaction that the answer names.
        by_chain: Whether the id is from the proof or the chain, and not from the answer alone.
    """

    tx_id: str | None
    named_id: str | None
    by_chain: bool

    @property
    def wrong_id(self) -> str | None:
        """The transaction that the answer names if that is a wrong one, else None."""
        if not self.by_chain or self.named_id is None or self.tx_id is None:
            return None
        return None if _normalize_id(self.named_id) == _normalize_id(self.tx_id) else self.named_id

    def references(self, service_word: str | None, network_key: str, token: str) -> dict[str, set[str]]:
        """Return the references to which a receipt may be bound, by recipe, for each spelling of the id."""
        references_found = hash_recipes.settled_refs(service_word, self.tx_id, network_key, token)
        if (
            self.named_id is not None
            and self.tx_id is not None
            and _normalize_id(self.named_id) == _normalize_id(self.tx_id)
        ):
            for name, values in hash_recipes.settled_refs(service_word, self.named_id, network_key, token).items():
                references_found.setdefault(name, set()).update(values)
        return references_found


def _normalize_id(tx_id: str) -> str:
    return tx_id.lower().removeprefix("0x") if _TX_ID.fullmatch(tx_id) else tx_id


async def find_settlement(sale: Purchase, payer: Payer) -> Settlement:
    """Return the transaction that settled a served call."""
    named_id = sale.transaction
    if isinstance(sale.proof.get("tx_id"), str) or not isinstance(payer, SettledByRail):
        return Settlement(named_id, named_id, by_chain=True)
    chain_id = await _query_chain(sale, payer)
    if chain_id is not None:
        return Settlement(chain_id, named_id, by_chain=True)
    plausible_id = named_id if named_id is not None and _TX_ID.fullmatch(named_id) else None
    return Settlement(plausible_id, named_id, by_chain=False)


async def _query_chain(sale: Purchase, payer: SettledByRail) -> str | None:
    """Return the transaction that used the authorization, or None if the node shows none or refuses the query."""
    # The rail's node may see the block before the suite's node does.
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _BEHIND_SECONDS
    while True:
        try:
            transaction = await payer.settlement(sale.challenge.entry(sale.lane), sale.proof)
        except Inconclusive:
            return None
        if transaction is not None or loop.time() > deadline:
            return transaction
        await asyncio.sleep(_PAUSE_SECONDS)


def judge_header(case: Case, sale: Purchase, settlement: Settlement) -> None:
    """Warn of an answer that names another transaction than the one that settled it."""
    if settlement.by_chain and settlement.named_id is not None and "tx_id" not in sale.proof:
        is_right = settlement.wrong_id is None
        finding = None if is_right else f"{settlement.wrong_id}, and the chain {settlement.tx_id}"
        where = {"operation": sale.operation.path, "claim": "PAYMENT-RESPONSE"}
        requirement = "the header names the transaction that used the authorization"
        case.expect(ROW, is_right, requirement, finding, exchange=sale.answer, where=where, beyond=_HEADER_OPEN)


def find_wrong_recipe(claims: Mapping[str, Any], wrong_references: Mapping[str, set[str]]) -> str | None:
    """Return the recipe by which a receipt is bound to a transaction that paid nothing, or None.

    Args:
        claims: The receipt's claims.
        wrong_references: The recipes over the transaction that the answer names wrongly.
    """
    own_claims = {name: value for name, value in claims.items() if name == _UNIQUE_CLAIMS[0]} or claims
    recipes = {name: values for name, values in wrong_references.items() if not name.endswith("-token")}
    return next(
        (name for name, values in recipes.items() if hash_recipes.find_claim(own_claims, values) is not None), None
    )


def judge_claims(case: Case, sale: Purchase, payer: Payer, claims: Mapping[str, Any]) -> None:
    """Warn of claims by the family's own names that describe another payment than the real one.

    Claims in another form than the offer's, or of unknown meaning, are not compared.
    """
    for name, is_right, paid_value in _compare_claims(sale, payer, claims):
        where = {"operation": sale.operation.path, "claim": name}
        requirement, finding = f"{name} of what was paid, {paid_value}", None if is_right else str(claims[name])
        case.expect(ROW, is_right, requirement, finding, exchange=sale.answer, where=where, beyond=_CLAIMS_OPEN)


def _compare_claims(sale: Purchase, payer: Payer, claims: Mapping[str, Any]) -> Iterator[tuple[str, bool, str]]:
    """Yield each claim that can be compared: its name, whether it is right, and the real value."""
    entry, terms = sale.challenge.entry(sale.lane), sale.proof.get("authorization")
    sender = terms.get("from") if isinstance(terms, Mapping) else payer.address
    # The receipt's network may be in another spelling than the offer's, so lanes are compared.
    lane = lane_of(claims)
    if lane is not None:
        yield "network", lane == sale.lane, str(entry.get("network"))
    for name, paid_value in (
        ("asset", entry.get("asset")),
        ("pay_to", entry.get("payTo")),
        ("payer", sender),
        ("payer_address", sender),
    ):
        claimed_value = claims.get(name)
        if (
            isinstance(paid_value, str)
            and isinstance(claimed_value, str)
            and _find_form(paid_value) == _find_form(claimed_value) is not None
        ):
            yield (
                name,
                paid_value == claimed_value
                or (paid_value.lower() == claimed_value.lower() and claimed_value.startswith("0x")),
                paid_value,
            )
    amount, price = str(claims.get("amount_microunits")), str(entry.get("maxAmountRequired"))
    if _AMOUNT.fullmatch(amount) and _AMOUNT.fullmatch(price):
        yield "amount_microunits", int(amount) == int(price), price


def _find_form(text: str) -> re.Pattern[str] | None:
    return next((form for form in _FORMS if form.fullmatch(text)), None)


@dataclass(slots=True)
class References:
    """The references in the receipts of several payments, by the claims that must differ for each payment."""

    _payments: dict[tuple[str, str], dict[str, Purchase]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, sale: Purchase, settlement: Settlement, claims: Mapping[str, Any]) -> None:
        """Record the references of a receipt. Two payments in one transaction may share the transaction's."""
        # Keyed by payment and not by receipt: the same payment may have several receipts with one reference.
        payments = {_UNIQUE_CLAIMS[0]: settlement.tx_id, _UNIQUE_CLAIMS[1]: sale.challenge.reference(sale.lane)}
        for name, payment in payments.items():
            if isinstance(claims.get(name), str) and payment is not None:
                self._payments[name, claims[name]][payment] = sale

    def judge(self, case: Case) -> None:
        """Judge that no two payments share a reference."""
        for (name, value), payments in self._payments.items():
            if len(payments) > 1:
                sale = list(payments.values())[-1]
                # The second name is this suite's own, so a breach of it only warns.
                beyond = None if name == _UNIQUE_CLAIMS[0] else _CLAIMS_OPEN
                finding, where = f"{value} for {len(payments)} payments", {"claim": name}
                requirement = f"another {name} for another payment"
                case.expect(ROW, False, requirement, finding, exchange=sale.answer, where=where, beyond=beyond)
