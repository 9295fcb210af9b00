"""`weldproof-gateway payments`: what counted for no link is listed for every tenant, and marked as given back."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from reference.gateway.__main__ import main
from tests.reference.gateway.checkout.checkout_shop import checkout_shop
from tests.reference.gateway.dashboard.test_dashboard_lists import listed_late

NETWORK = "algorand_testnet"


async def payments(folder: Path, *words: str) -> Result:
    """Run the command beside a gateway, with its settings."""
    settings = {"WP_GATEWAY_DATA_DIR": str(folder)}
    return await asyncio.to_thread(CliRunner().invoke, main, ["payments", *words], env=settings)


async def list_payments(folder: Path, *words: str) -> list[dict[str, Any]]:
    """Return what the command lists."""
    result = await payments(folder, *words, "--json")
    assert result.exit_code == 0, result.output
    entries = json.loads(result.stdout)
    assert entries["more"] is False
    rows: list[dict[str, Any]] = entries["payments"]
    return rows


async def test_late_payments_of_every_tenant_are_listed_and_marked(tmp_path: Path) -> None:
    """As the dashboard would, by the same rule: once, by another transaction of the network, shown by both lists."""
    data = tmp_path / "data"
    async with checkout_shop(tmp_path, now=int(time.time())) as shop:
        assert (await payments(data)).output == "No entries.\n"
        tenants = [await shop.tenant() for _ in range(2)]
        links = [await shop.on(NETWORK, tenant) for tenant in tenants]
        late = [await listed_late(shop, link, letter * 52) for link, letter in zip(links, "AB", strict=True)]
        entries = {one["payment_id"]: one for one in await list_payments(data)}
        assert {name: one["tenant_id"] for name, one in entries.items()} == {
            name: tenant.id for name, tenant in zip(late, tenants, strict=True)
        }
        output = (await payments(data)).output
        assert all(text in output for text in (*late, tenants[0].id, "A" * 52, "late"))
        for transaction in ("A" * 52, "no id", "0x" + "1" * 64):
            result = await payments(data, "refunded", late[0], "--transaction", transaction)
            assert (result.exit_code, result.stdout) == (1, "")
        assert (await payments(data, "refunded", "nobody", "--transaction", "C" * 51 + "A")).exit_code == 1
        assert (await payments(data, "refunded", late[0], "--transaction", "C" * 51 + "A")).exit_code == 0
        again = await payments(data, "refunded", late[0], "--transaction", "D" * 51 + "A")
        assert (again.exit_code, "given back already" in again.stderr) == (1, True)
        assert [one["payment_id"] for one in await list_payments(data)] == [late[1]]
        [given_back] = await list_payments(data, "--refunded")
        assert (given_back["payment_id"], given_back["refund_tx_id"]) == (late[0], "C" * 51 + "A")


async def test_without_a_database_nothing_is_made(tmp_path: Path) -> None:
    """Exit code 2 and a line that names the setting."""
    result = await payments(tmp_path / "elsewhere")
    assert (result.exit_code, result.stderr.split(":")[0]) == (2, "WP_GATEWAY_DATA_DIR")
    assert not (tmp_path / "elsewhere").exists()
