"""What the checkout page shows of a merchant, and the checks of it: name, contact, logo, addresses (3.9)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from reference.gateway.lookalikes import BIDI_CONTROLS, reads_as_state
from reference.gateway.return_addresses import MAX_REDIRECT, is_redirect
from reference.gateway.settings import GatewaySettings
from reference.store.merchants import Merchant, Merchants

# The limits of what a tenant may register (3.9).
LONGEST_NAME = 64
LONGEST_CONTACT = 254
MOST_ADDRESSES = 9
# The logo is in the database and on every page, so it is small: 48 KB, and 1024 pixels in each direction.
LOGO_BYTES = 49152
LOGO_PIXELS = 1024
# Control characters and characters that turn the direction of text could garble the amount next to a name.
_CONTROL = re.compile(rf"[\x00-\x1f\x7f-\x9f\u2028\u2029{BIDI_CONTROLS}]")
# Plain ASCII only. The address is shown next to money, so it must not contain look-alike letters or hidden text.
_EMAIL = re.compile(r"[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", re.ASCII)
_PNG = b"\x89PNG\r\n\x1a\n"
_HEADER = b"\x00\x00\x00\x0dIHDR"
_END = b"\x00\x00\x00\x00IEND\xaeB`\x82"


@dataclass(eq=False)
class Unfit(Exception):
    """A text or file that the checkout page must not show.

    Attributes:
        sentence: Why, for people.
    """

    sentence: str


class Storefronts:
    """Reads and changes what the page shows of tenants."""

    def __init__(self, settings: GatewaySettings, merchants: Merchants) -> None:
        self._loopback = settings.mode == "test"
        self._merchants = merchants

    async def of(self, tenant_id: str) -> Merchant:
        """Return what the page shows of a tenant."""
        return await self._merchants.get(tenant_id)

    async def addresses(self, tenant_id: str) -> Sequence[str]:
        """Return the addresses of a tenant's shop."""
        return await self._merchants.addresses(tenant_id)

    async def logo(self, digest: str) -> bytes | None:
        """Return the PNG with a digest, or None if no tenant has it now."""
        return await self._merchants.logo(digest)

    async def save(self, tenant_id: str, name: str, addresses: Sequence[str], contact: str) -> None:
        """Replace a tenant's name and contact for payers and the addresses of its shop, which have been checked."""
        await self._merchants.save(tenant_id, name, addresses, contact)

    async def save_logo(self, tenant_id: str, png: bytes) -> None:
        """Replace a tenant's logo, which has been checked."""
        await self._merchants.save_logo(tenant_id, hashlib.sha256(png).hexdigest(), png)

    async def delete_logo(self, tenant_id: str) -> None:
        """Delete a tenant's logo."""
        await self._merchants.delete_logo(tenant_id)

    def check_addresses(self, addresses: Sequence[str]) -> None:
        """Accept the addresses of a shop.

        Raises:
            Unfit: One of them is malformed, or there are too many.
        """
        if len(addresses) > MOST_ADDRESSES:
            raise Unfit(f"Give at most {MOST_ADDRESSES} addresses.")
        for address in addresses:
            if len(address) > MAX_REDIRECT or not is_redirect(address, loopback=self._loopback):
                raise Unfit("Give absolute https addresses on the public internet, one a line.")


def check_name(name: str) -> None:
    """Accept a name for payers. The empty name means none.

    Raises:
        Unfit: It is too long, not one line, or could be taken for the state of a payment.
    """
    if len(name) > LONGEST_NAME or _CONTROL.search(name):
        raise Unfit(f"Give a name of at most {LONGEST_NAME} characters in one line.")
    # The page of an unpaid link must not contain the word Paid, which its shop could show to a payer (P-CK-01).
    if reads_as_state(name):
        raise Unfit("A name that reads as Paid could be taken for the state of the payment. Leave that word out.")


def check_contact(email: str) -> None:
    """Accept a contact for payers. The empty one means none.

    Raises:
        Unfit: It is not an e-mail address in plain ASCII.
    """
    if email and (len(email) > LONGEST_CONTACT or _EMAIL.fullmatch(email) is None):
        raise Unfit("Give an e-mail address like help@shop.example.")


def payee_name(merchant: Merchant) -> str:
    """Return the name of a tenant for payers: its own, or the one that the operator gave it (decision 0072).

    Empty if the operator's name could be mistaken for the state of the payment.
    """
    if merchant.name:
        return merchant.name
    name = merchant.tenant_name
    short_name = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1].rstrip()}…"
    try:
        check_name(short_name)
    except Unfit:
        return ""
    return short_name


def check_logo(png: bytes) -> None:
    """Accept a logo: a PNG, which no browser executes.

    Raises:
        Unfit: It is not a PNG, or too large.
    """
    if not png:
        raise Unfit("Choose a file.")
    if len(png) > LOGO_BYTES:
        raise Unfit(f"The file has more than {LOGO_BYTES // 1024} KB.")
    # Start and end are checked, so that no script or archive can be appended to a picture and served under this host.
    if not png.startswith(_PNG + _HEADER) or not png.endswith(_END):
        raise Unfit("Give a PNG file.")
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    if not (1 <= width <= LOGO_PIXELS and 1 <= height <= LOGO_PIXELS):
        raise Unfit(f"Give a picture of at most {LOGO_PIXELS} by {LOGO_PIXELS} pixels.")
