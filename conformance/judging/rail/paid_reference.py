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
from conformance.lanes.descriptor import Payer, Settled
from conformance.oracles import hashing
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.purchase import Purchase, lane_of

ROW: Final = "RAIL-RCPT-06"
ON_ITS_WORD: Final = "the transaction of its own header is the one that settled"
_HEADER_OPEN: Final = "no sentence of the interface promises the header or what it names"
_CLAIMS_OPEN: Final = "the interface leaves a receipt's other claims open"
_TX_ID: Final = re.compile(r"(?:0x)?[0-9a-fA-F]{64}")
# Seconds. The suite's node may be behind the rail's, so it is queried again for four seconds, twice a second.
_BEHIND, _AGAIN = 4.0, 0.5
# The forms of assets and addresses: of EVM, a number, of Algorand, of Solana. Texts of different forms are not
# compared.
_FORMS: Final = tuple(
    map(re.compile, (r"0x[0-9a-fA-F]{40}", r"[0-9]{1,20}", r"[A-Z2-7]{58}", r"[1-9A-HJ-NP-Za-km-z]{32,44}"))
)
_AMOUNT: Final = re.compile(r"[0-9]{1,30}")
# Claims by the family's own names whose value must differ for each payment.
_ITS_OWN: Final = ("settled_payment_ref", "payment_reference_hash")


@dataclass(frozen=True, slots=True)
class Settlement:
    """The transaction that paid.

    Attributes:
        tx_id: Its id; None if neither the chain nor the answer has it.
        told: The transaction that the answer names.
        by_chain: Whether the id is from the proof or the chain, and not from the answer alone.
    """

    tx_id: str | None
    told: str | None
    by_chain: bool

    @property
    def another(self) -> str | None:
        """The transaction that the answer names if that is a wrong one, else None."""
        if not self.by_chain or self.told is None or self.tx_id is None:
            return None
        return None if _bare(self.told) == _bare(self.tx_id) else self.told

    def references(self, service_word: str | None, network_key: str, token: str) -> dict[str, set[str]]:
        """Return the references to which a receipt may be bound, by recipe, for each spelling of the id."""
        found = hashing.settled_refs(service_word, self.tx_id, network_key, token)
        if self.told is not None and self.tx_id is not None and _bare(self.told) == _bare(self.tx_id):
            for name, values in hashing.settled_refs(service_word, self.told, network_key, token).items():
                found.setdefault(name, set()).update(values)
        return found


def _bare(tx_id: str) -> str:
    return tx_id.lower().removeprefix("0x") if _TX_ID.fullmatch(tx_id) else tx_id


async def settlement_of(served: Purchase, payer: Payer) -> Settlement:
    """Return the transaction that settled a served call."""
    told = served.transaction
    if isinstance(served.proof.get("tx_id"), str) or not isinstance(payer, Settled):
        return Settlement(told, told, by_chain=True)
    found = await _on_the_chain(served, payer)
    if found is not None:
        return Settlement(found, told, by_chain=True)
    known = told if told is not None and _TX_ID.fullmatch(told) else None
    return Settlement(known, told, by_chain=False)


async def _on_the_chain(served: Purchase, payer: Settled) -> str | None:
    """Return the transaction that used the authorization, or None if the node shows none or refuses the query."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + _BEHIND
    while True:
        try:
            found = await payer.settlement(served.challenge.entry(served.lane), served.proof)
        except Inconclusive:
            return None
        if found is not None or loop.time() > ends:
            return found
        await asyncio.sleep(_AGAIN)


def judge_header(case: Case, served: Purchase, settlement: Settlement) -> None:
    """Warn of an answer that names another transaction than the one that settled it."""
    if settlement.by_chain and settlement.told is not None and "tx_id" not in served.proof:
        right = settlement.another is None
        found = None if right else f"{settlement.another}, and the chain {settlement.tx_id}"
        where = {"operation": served.operation.path, "claim": "PAYMENT-RESPONSE"}
        expected = "the header names the transaction that used the authorization"
        case.expect(ROW, right, expected, found, exchange=served.answer, where=where, beyond=_HEADER_OPEN)


def names_another(claims: Mapping[str, Any], another: Mapping[str, set[str]]) -> str | None:
    """Return the recipe by which a receipt is bound to a transaction that paid nothing, or None.

    Args:
        claims: The receipt's claims.
        another: The recipes over the transaction that the answer names wrongly.
    """
    own = {name: value for name, value in claims.items() if name == _ITS_OWN[0]} or claims
    over_it = {name: values for name, values in another.items() if not name.endswith("-token")}
    return next((name for name, values in over_it.items() if hashing.find_claim(own, values) is not None), None)


def judge_claims(case: Case, served: Purchase, payer: Payer, claims: Mapping[str, Any]) -> None:
    """Warn of claims by the family's own names that describe another payment than the real one.

    Claims in another form than the offer's, or of unknown meaning, are not compared.
    """
    for name, right, paid in _compared(served, payer, claims):
        where = {"operation": served.operation.path, "claim": name}
        expected, found = f"{name} of what was paid, {paid}", None if right else str(claims[name])
        case.expect(ROW, right, expected, found, exchange=served.answer, where=where, beyond=_CLAIMS_OPEN)


def _compared(served: Purchase, payer: Payer, claims: Mapping[str, Any]) -> Iterator[tuple[str, bool, str]]:
    """Yield each claim that can be compared: its name, whether it is right, and the real value."""
    entry, terms = served.challenge.entry(served.lane), served.proof.get("authorization")
    sender = terms.get("from") if isinstance(terms, Mapping) else payer.address
    lane = lane_of(claims)
    if lane is not None:
        yield "network", lane == served.lane, str(entry.get("network"))
    for name, paid in (
        ("asset", entry.get("asset")),
        ("pay_to", entry.get("payTo")),
        ("payer", sender),
        ("payer_address", sender),
    ):
        claimed = claims.get(name)
        if isinstance(paid, str) and isinstance(claimed, str) and _form(paid) == _form(claimed) is not None:
            yield name, paid == claimed or (paid.lower() == claimed.lower() and claimed.startswith("0x")), paid
    amount, price = str(claims.get("amount_microunits")), str(entry.get("maxAmountRequired"))
    if _AMOUNT.fullmatch(amount) and _AMOUNT.fullmatch(price):
        yield "amount_microunits", int(amount) == int(price), price


def _form(text: str) -> re.Pattern[str] | None:
    return next((form for form in _FORMS if form.fullmatch(text)), None)


@dataclass(slots=True)
class References:
    """The references in the receipts of several payments, by the claims that must differ for each payment."""

    _of: dict[tuple[str, str], dict[str, Purchase]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, served: Purchase, settlement: Settlement, claims: Mapping[str, Any]) -> None:
        """Record the references of a receipt. Two payments in one transaction may share the transaction's."""
        payments = {_ITS_OWN[0]: settlement.tx_id, _ITS_OWN[1]: served.challenge.reference(served.lane)}
        for name, payment in payments.items():
            if isinstance(claims.get(name), str) and payment is not None:
                self._of[name, claims[name]][payment] = served

    def judge(self, case: Case) -> None:
        """Judge that no two payments share a reference."""
        for (name, value), payments in self._of.items():
            if len(payments) > 1:
                served = list(payments.values())[-1]
                # The second name is this suite's own, so a breach of it only warns.
                beyond = None if name == _ITS_OWN[0] else _CLAIMS_OPEN
                found, where = f"{value} for {len(payments)} payments", {"claim": name}
                expected = f"another {name} for another payment"
                case.expect(ROW, False, expected, found, exchange=served.answer, where=where, beyond=beyond)
