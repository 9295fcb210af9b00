"""The choice of an offer: the rules that a 402 must keep before any money moves (10.2)."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reference.protocol.hashes import request_hash
from reference.variants.payer.http_call import Answer
from reference.variants.payer.lanes import is_address
from reference.variants.payer.settings import Refused, Settings

# Less of the lifetime could end before a slow chain has made the payment final.
LEAST_SECONDS_LEFT = 120
_AMOUNT = re.compile(r"[1-9][0-9]{0,18}")
_ISSUED = re.compile(r"([1-9][0-9]{9,10}):")


@dataclass(frozen=True, slots=True)
class Offer:
    """One entry of `accepts`, with what it is compared with.

    Attributes:
        entry: The entry.
        settings: The permission to pay.
        now: The time in unix seconds.
    """

    entry: dict[str, Any]
    settings: Settings
    now: float

    @property
    def extra(self) -> dict[str, Any]:
        """The member `extra`; empty if it is no object."""
        extra = self.entry.get("extra")
        return extra if isinstance(extra, dict) else {}

    @property
    def token(self) -> str:
        """The challenge token; empty if it is missing."""
        token = self.extra.get("payment_reference")
        return token if isinstance(token, str) else ""

    @property
    def amount(self) -> str:
        """The price in atomic units, as text."""
        return str(self.entry.get("maxAmountRequired"))


def asks_permitted_asset(offer: Offer) -> bool:
    """It asks for the one asset that may be paid in."""
    # A name proves nothing: any account can make an asset that is called USDC.
    asset, permitted = str(offer.entry.get("asset")), offer.settings.asset
    return asset == permitted if not permitted.startswith("0x") else asset.lower() == permitted.lower()


def has_amount(offer: Offer) -> bool:
    """Its price is a decimal number of atomic units."""
    return _AMOUNT.fullmatch(offer.amount) is not None


def says_one_amount(offer: Offer) -> bool:
    """The member `amount`, if it is there, is the price, too."""
    return str(offer.entry.get("amount", offer.amount)) == offer.amount


def is_within_limit(offer: Offer) -> bool:
    """Its price is not above the limit."""
    return int(offer.amount) <= offer.settings.limit


def names_payee(offer: Offer) -> bool:
    """Its payee is an address of the lane's chain."""
    return is_address(offer.settings.lane, offer.entry.get("payTo"))


def can_be_welded(offer: Offer) -> bool:
    """It has a token to which a payment can be welded."""
    return bool(offer.token)


def is_for_this_request(offer: Offer) -> bool:
    """Its hash of the request, if it has one, is that of this request."""
    quoted = offer.extra.get("request_hash")
    address, service = offer.settings.address, str(offer.extra.get("service_id"))
    own = request_hash(body=offer.settings.request, path=address.path, query=address.query, service_id=service)
    return quoted is None or quoted == own


def lasts_long_enough(offer: Offer) -> bool:
    """Enough of its lifetime is left, from its issue, or from its arrival if it shows no issue time."""
    issued, lifetime = _ISSUED.match(offer.token), offer.entry.get("maxTimeoutSeconds")
    if not isinstance(lifetime, int):
        return True
    if issued is None:
        return lifetime >= LEAST_SECONDS_LEFT
    return int(issued[1]) + lifetime - offer.now >= LEAST_SECONDS_LEFT


Rule = Callable[[Offer], bool]
# In this order: a rule may rely on those before it.
RULES: tuple[Rule, ...] = (
    asks_permitted_asset,
    has_amount,
    says_one_amount,
    is_within_limit,
    names_payee,
    can_be_welded,
    is_for_this_request,
    lasts_long_enough,
)


def choose_offer(settings: Settings, answer: Answer) -> dict[str, Any]:
    """Return the entry of a 402 that is paid.

    Raises:
        Refused: None may be paid.
    """
    if answer.status != 402:
        raise Refused(f"the rail answered {answer.status} instead of a price")
    document = answer.members
    if not repeats_body(answer.headers.get("payment-required"), document):
        raise Refused("PAYMENT-REQUIRED contradicts the body")
    entries = document.get("accepts")
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or entry.get("network") != settings.network:
            continue
        offer = Offer(entry, settings, time.time())
        for rule in RULES:
            if not rule(offer):
                raise Refused(f"the offer breaks a rule: {rule.__doc__}")
        return entry
    raise Refused(f"the rail offers nothing on {settings.network}")


def repeats_body(header: str | None, document: dict[str, Any]) -> bool:
    """Return whether the header, if it is there, offers what the body offers."""
    if header is None:
        return True
    try:
        repeated = json.loads(base64.b64decode(header, validate=True))
    except (ValueError, RecursionError):
        return False
    return isinstance(repeated, dict) and repeated.get("accepts") == document.get("accepts")
