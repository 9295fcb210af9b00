"""The machine's clock is set while a gateway runs, or before it starts: no link and no answer ends by it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.reference.gateway.gateway_process import GatewayProcess
from tests.reference.gateway.gateway_stack import ALGORAND, LINK, LINKS, Tenant
from tests.reference.rail.rail_stack import SimulatedChain

DAYS = 2 * 86_400
IN_DOUBT = (503, "clock_in_doubt")


class JumpingGateway(GatewayProcess):
    """A gateway on a machine whose clock the test sets, with a chain that has the right time."""

    def __init__(self, folder: Path, chain: SimulatedChain, settings: dict[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.wall_file = folder / "wall"
        self.set_wall(0)
        token = folder / "algod_token"
        token.write_text(chain.token, "ascii")
        variables = {
            "WELDPROOF_TEST_WALL": str(self.wall_file),
            "WP_NODE_ALGORAND_TESTNET": chain.algod,
            "WP_INDEXER_ALGORAND_TESTNET": chain.indexer,
            "WP_NODE_TOKEN_ALGORAND_TESTNET_FILE": str(token),
            "WP_CHAIN_POLL_SECONDS": "0.2",
            **settings,
        }
        super().__init__(folder, variables)
        self._program = ["-m", "tests.reference.jumping", "reference.gateway"]

    def set_wall(self, seconds: float) -> None:
        """Set the machine's clock to `seconds` from the right time."""
        fresh = self.wall_file.with_name("wall.fresh")
        fresh.write_text(str(seconds), "ascii")
        fresh.rename(self.wall_file)

    def health(self) -> tuple[int, str]:
        """Return what /health answers: its status, and its code or `ok`."""
        answer = self.http.get("/health")
        return answer.status_code, answer.json().get("error", "ok")

    def merchant(self) -> Tenant:
        """Make a tenant that is paid on Algorand's test network."""
        answer = self.internal("POST", "", {"name": "shop"})
        body = {"algorand_testnet": {"payout_address": ALGORAND}}
        self.internal("PUT", f"/{answer['tenant_id']}/networks", body)
        return Tenant(answer["tenant_id"], answer["api_key"])


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def gateway(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[JumpingGateway]:
    """A gateway with a chain."""
    chain = SimulatedChain()
    environment = {} if request.param == "sqlite" else {"WP_GATEWAY_DB": request.getfixturevalue("postgres_database")}
    process = JumpingGateway(tmp_path / "gateway", chain, environment)
    try:
        yield process.start().ready()
    finally:
        process.close()
        chain.stop()


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def test_no_link_ends_by_a_clock_that_is_wrong(gateway: JumpingGateway) -> None:
    """Two days ahead for some seconds, and at a start: no link is made, none expires, no key is free again."""
    tenant = gateway.merchant()
    headers = tenant.headers(idempotency_key="order-1")
    answer = gateway.http.post(LINKS, json=LINK, headers=headers)
    assert answer.status_code == 201, answer.text
    status = f"/checkout/{answer.json()['token']}/status"

    def holds() -> None:
        assert gateway.http.get(status).json()["status"] == "active"
        again = gateway.http.post(LINKS, json=LINK, headers=headers)
        assert (again.status_code, again.content) == (201, answer.content)

    for restarts in (False, True):
        if restarts:
            gateway.stop()
        gateway.set_wall(DAYS)
        if restarts:
            gateway.start()
            until(lambda: _answers(gateway))
        until(lambda: gateway.health() == IN_DOUBT)
        refusal = gateway.http.post(LINKS, json=LINK, headers=tenant.headers())
        assert (refusal.status_code, refusal.json()["error"]) == IN_DOUBT
        time.sleep(2.5)
        holds()
        gateway.set_wall(0)
        until(lambda: gateway.health() == (200, "ok"))
        holds()
        assert gateway.http.post(LINKS, json=LINK, headers=tenant.headers()).status_code == 201


def _answers(gateway: JumpingGateway) -> bool:
    try:
        gateway.http.get("/health")
    except httpx.TransportError:
        return False
    return True
