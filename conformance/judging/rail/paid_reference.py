"""What a receipt says of its payment, beside what was really paid: by the chain, not by the server's word.

A proof on a mined lane names its transaction. Where the rail settles, the chain is asked which transaction used the
authorization; what the answer's header says is believed only where the chain shows none.
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
# Seconds for which a node is asked again that is behind the one that the rail asks, and between two questions.
_BEHIND, _AGAIN = 4.0, 0.5
# Ways in which an asset or an address is written; what is written in another way is not compared.
_FORMS: Final = tuple(
    map(re.compile, (r"0x[0-9a-fA-F]{40}", r"[0-9]{1,20}", r"[A-Z2-7]{58}", r"[1-9A-HJ-NP-Za-km-z]{32,44}"))
)
_AMOUNT: Final = re.compile(r"[0-9]{1,30}")
# By the family's own names: what each payment has for itself alone.
_ITS_OWN: Final = ("settled_payment_ref", "payment_reference_hash")


@dataclass(frozen=True, slots=True)
class Settlement:
    """The transaction that paid.

    Attributes:
        tx_id: Its id; None where neither the chain nor the answer tells it.
        told: What the answer names as it.
        by_chain: Whether it is the proof's or the chain shows it, and not the answer alone.
    """

    tx_id: str | None
    told: str | None
    by_chain: bool

    @property
    def another(self) -> str | None:
        """What the answer names where that is not the transaction; None where it is, or names nothing."""
        if not self.by_chain or self.told is None or self.tx_id is None:
            return None
        return None if _bare(self.told) == _bare(self.tx_id) else self.told

    def references(self, service_word: str | None, network_key: str, token: str) -> dict[str, set[str]]:
        """Return what it may be bound by, for each recipe, in each spelling of its id that was told."""
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
    """Return the transaction that used the authorization; None where the node shows none, or cannot be asked for it."""
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
    """Return the recipe by which a receipt binds something that paid nothing, None where it does not.

    Args:
        claims: The receipt's.
        another: The recipes over what the answer names in place of the transaction.
    """
    own = {name: value for name, value in claims.items() if name == _ITS_OWN[0]} or claims
    over_it = {name: values for name, values in another.items() if not name.endswith("-token")}
    return next((name for name, values in over_it.items() if hashing.find_claim(own, values) is not None), None)


def judge_claims(case: Case, served: Purchase, payer: Payer, claims: Mapping[str, Any]) -> None:
    """Warn of claims by the family's own names that tell of another payment than was made.

    What is written in another way than the offer writes it, or names nothing that is known, is not compared.
    """
    for name, right, paid in _compared(served, payer, claims):
        where = {"operation": served.operation.path, "claim": name}
        expected, found = f"{name} of what was paid, {paid}", None if right else str(claims[name])
        case.expect(ROW, right, expected, found, exchange=served.answer, where=where, beyond=_CLAIMS_OPEN)


def _compared(served: Purchase, payer: Payer, claims: Mapping[str, Any]) -> Iterator[tuple[str, bool, str]]:
    """Yield each claim that can be compared: its name, whether it is right, and what was paid."""
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
    """What receipts of several payments have by the names of what each payment has for itself."""

    _of: dict[tuple[str, str], dict[str, Purchase]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, served: Purchase, settlement: Settlement, claims: Mapping[str, Any]) -> None:
        """Note those of a receipt; two payments in one transaction may share its reference."""
        payments = {_ITS_OWN[0]: settlement.tx_id, _ITS_OWN[1]: served.challenge.reference(served.lane)}
        for name, payment in payments.items():
            if isinstance(claims.get(name), str) and payment is not None:
                self._of[name, claims[name]][payment] = served

    def judge(self, case: Case) -> None:
        """Judge that no two payments share one; the second name is the suite's own, and only warns."""
        for (name, value), payments in self._of.items():
            if len(payments) > 1:
                served = list(payments.values())[-1]
                beyond = None if name == _ITS_OWN[0] else _CLAIMS_OPEN
                found, where = f"{value} for {len(payments)} payments", {"claim": name}
                expected = f"another {name} for another payment"
                case.expect(ROW, False, expected, found, exchange=served.answer, where=where, beyond=beyond)
