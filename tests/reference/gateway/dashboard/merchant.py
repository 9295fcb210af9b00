"""A tenant that signs in at the dashboard with its own key, and what it has there."""

from __future__ import annotations

from typing import Any

import httpx

from tests.reference.gateway.checkout.checkout_shop import Shop
from tests.reference.gateway.dashboard.administrator import ROOT, Administrator, Shown, fields
from tests.reference.gateway.gateway_stack import Tenant

SHOP = f"{ROOT}/shop"


class Merchant(Administrator):
    """A tenant at the dashboard."""

    async def make_link(self, **values: Any) -> Shown:
        """Fill in the form of a new link and return the answer."""
        return await self.submit(
            await self.show(f"{SHOP}/links"), f"{SHOP}/links", **{"amount": "8.41", "label": "Order 7", **values}
        )

    async def send_logo(self, png: bytes, path: str = SHOP, **changed: Any) -> httpx.Response:
        """Send a file by the form of the logo."""
        page = await self.show(f"{path}/settings/checkout")
        form = page.form(f"{path}/settings/checkout/logo")
        assert form.attributes["enctype"] == "multipart/form-data"
        form_values = {**fields(form), **changed}
        return await self.http.post(
            f"{path}/settings/checkout/logo", data=form_values, files={"logo": ("logo.png", png, "image/png")}
        )


async def paid_link(store: Shop, tenant: Tenant, number: int = 1, **members: Any) -> tuple[dict[str, Any], Any]:
    """Make a link of a tenant on Algorand, pay it, and return it with the answer to the report of the payment."""
    link = await store.on("algorand_testnet", tenant, **members)
    tx_id = store.chains["algorand_testnet"].pay(number, store.memo(link))
    answer = await store.post(link, "/verify", {"tx_id": tx_id})
    assert answer.status_code == 200, answer.text
    return link, {**answer.json(), "tx_id": tx_id}
