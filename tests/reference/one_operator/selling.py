"""What one operator runs on three simulated chains: rails and gateways that are paid to the same addresses."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import httpx
import psycopg
from eth_account import Account
from solders.pubkey import Pubkey

from tests.reference.gateway.gateway_process import GatewayProcess
from tests.reference.gateway.gateway_stack import LINK, LINKS, Tenant
from tests.reference.rail.a2a.a2a_client import entry_of, open_task, pay
from tests.reference.rail.base_stack import PRICE, Settler, SimulatedBase, base_settings
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, Payer, Rail, SimulatedChain
from tests.reference.rail.solana_stack import SimulatedSolana, SolanaPayer, solana_settings

LANES = ("algorand_mainnet", "base_mainnet", "solana_mainnet")
DOLLARS = PRICE / 10**6


@dataclass(frozen=True)
class Link:
    """A payment link of the price of a call.

    Attributes:
        shop: The gateway that made it.
        token: Its token.
    """

    shop: GatewayProcess
    token: str

    @property
    def memo(self) -> str:
        """What its page tells the payer to write."""
        return f"weldproof:{self.token}"

    @property
    def reference(self) -> str:
        """The account that its QR code has wallets name on Solana."""
        return str(Pubkey(hashlib.sha256(f"weldproof-checkout:solana-ref:{self.token}".encode()).digest()))

    def verify(self, tx_id: str) -> httpx.Response:
        """Show a transaction that is said to pay it."""
        return self.shop.http.post(f"/checkout/{self.token}/verify", json={"tx_id": tx_id})

    def is_paid_by(self, tx_id: str) -> bool:
        """Show a transaction and say whether it is paid."""
        answer = self.verify(tx_id)
        assert answer.status_code in {200, 409, 422}, answer.text
        return answer.status_code == 200


_Service = TypeVar("_Service")


@dataclass
class _Pool(Generic[_Service]):
    """Services that run, and how many of them are taken."""

    running: list[_Service] = field(default_factory=list)
    taken: int = 0

    def take(self, start: Callable[[], _Service]) -> _Service:
        """Return one that is free, or start one."""
        if self.taken == len(self.running):
            self.running.append(start())
        self.taken += 1
        return self.running[self.taken - 1]


@dataclass
class Operator:
    """One operator: its payees, and what it runs.

    Attributes:
        algorand: A chain.
        base: A chain.
        solana: A chain.
        folder: Everything's data.
        dsn: The one database of all that it runs; empty for a database each.
    """

    algorand: SimulatedChain
    base: SimulatedBase
    solana: SimulatedSolana
    folder: Path
    dsn: str = ""
    exits: ExitStack = field(default_factory=ExitStack)
    _rails: _Pool[Rail] = field(default_factory=_Pool)
    _gateways: _Pool[GatewayProcess] = field(default_factory=_Pool)

    def __post_init__(self) -> None:
        payee = Payer(self.algorand, usdc=1)
        owner = SolanaPayer(self.solana, usdc=1)
        self.payees = dict(zip(LANES, (payee.address, Account.create().address, owner.address), strict=True))

    def put_back(self) -> None:
        """Make the running rails and gateways available for the next test."""
        self._rails.taken = self._gateways.taken = 0

    def rail(self) -> Rail:
        """Return a rail with keys and a token secret of its own; those on one database share them."""
        return self._rails.take(self.new_rail)

    def gateway(self) -> GatewayProcess:
        """Return a gateway whose watcher sleeps, so that payments count when they are shown."""
        return self._gateways.take(self._new_gateway)

    def new_rail(self, **settings: str) -> Rail:
        """Start a rail with settings of its own."""
        folder = self.folder / f"rail{time.monotonic_ns()}"
        folder.mkdir(parents=True)
        report = base_settings(self.base, Settler(self.base, folder), self.payees["base_mainnet"])
        report |= solana_settings(self.solana, self.payees["solana_mainnet"], ",".join(LANES))
        report |= (
            {"WP_RAIL_DB": self.dsn, "WP_RAIL_DATA_DIR": str(self.folder / "rails")} if self.dsn else {}
        ) | settings
        made = Rail(self.algorand, folder, self.payees["algorand_mainnet"], report)
        self.exits.callback(made.close)
        return made.start()

    def _new_gateway(self) -> GatewayProcess:
        folder = self.folder / f"gateway{time.monotonic_ns()}"
        folder.mkdir(parents=True)
        (folder / "algod_token").write_text(self.algorand.token, "ascii")
        settings = {
            "WP_NODE_ALGORAND_MAINNET": self.algorand.algod,
            "WP_INDEXER_ALGORAND_MAINNET": self.algorand.indexer,
            "WP_NODE_TOKEN_ALGORAND_MAINNET_FILE": str(folder / "algod_token"),
            "WP_NODE_BASE_MAINNET": self.base.rpc,
            "WP_NODE_SOLANA_MAINNET": self.solana.rpc,
            "WP_EVM_CONFIRMATIONS": "1",
            **({"WP_GATEWAY_DB": self.dsn, "WP_GATEWAY_DATA_DIR": str(self.folder / "shops")} if self.dsn else {}),
        }
        made = GatewayProcess(folder, settings)
        self.exits.callback(made.close)
        return made.start().ready()

    def tenant(self, shop: GatewayProcess) -> Tenant:
        """Make a tenant with a live key, who is paid where the rails are."""
        made = shop.internal("POST", "", {"name": "shop"})
        where = f"/{made['tenant_id']}"
        shop.internal("PUT", f"{where}/networks", {lane: {"payout_address": to} for lane, to in self.payees.items()})
        shop.internal("POST", f"{where}/kyc", {"status": "approved"})
        return Tenant(made["tenant_id"], shop.internal("POST", f"{where}/api-keys", {"mode": "live"})["api_key"])

    @staticmethod
    def link(shop: GatewayProcess, tenant: Tenant, lane: str, amount: float = DOLLARS) -> Link:
        """Make a link."""
        body = {**LINK, "preferred_network": lane, "amount": amount}
        answer = shop.http.post(LINKS, json=body, headers=tenant.headers())
        assert answer.status_code == 201, answer.text
        return Link(shop, answer.json()["token"])


def read_quote(rail: Rail, lane: str) -> dict[str, Any]:
    """Return a lane's entry of an unpaid call's challenge."""
    answer = rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY)
    assert answer.status_code == 402, answer.text
    entries: list[dict[str, Any]] = answer.json()["accepts"]
    return next(one for one in entries if one["network"].startswith(_CAIP2[lane.partition("_")[0]]))


_CAIP2 = {"algorand": "algorand:", "base": "eip155:", "solana": "solana:"}


def reference_of(entry: Mapping[str, Any]) -> str:
    """Return the account that welds a Solana transfer to a challenge."""
    return str(entry["extra"]["svm_reference_pubkey"])


def serves(rail: Rail, entry: Mapping[str, Any], tx_id: str) -> bool:
    """Present a transaction for a challenge and say whether it buys the call."""
    return _is_served(rail.present({"tx_id": tx_id, "payment_reference": entry["extra"]["payment_reference"]}))


def settles(rail: Rail, proof: Mapping[str, Any]) -> bool:
    """Present a Base proof and say whether it buys the call."""
    return _is_served(rail.present(proof))


def _is_served(answer: httpx.Response) -> bool:
    assert answer.status_code in {200, 402, 409}, answer.text
    return answer.status_code == 200


@dataclass(frozen=True)
class Task:
    """A call that is asked for over A2A."""

    rail: Rail
    task: Mapping[str, Any]

    @classmethod
    def open(cls, rail: Rail) -> Task:
        """Open a task; it asks for payment."""
        return cls(rail, open_task(rail))

    def entry(self, lane: str) -> dict[str, Any]:
        """Return a lane's entry of what it asks for."""
        return entry_of(self.task, _CAIP2[lane.partition("_")[0]])

    def is_served(self, lane: str, tx_id: str) -> bool:
        """Pay it by a transaction and say whether that buys the call."""
        proof = {"tx_id": tx_id, "payment_reference": self.entry(lane)["extra"]["payment_reference"]}
        return bool(pay(self.rail, self.task, proof)["status"]["state"] == "completed")


@contextmanager
def opened_database(dsn: str) -> Iterator[Any]:
    """Open a database as its operator would; what is done is committed on leaving."""
    if dsn.startswith("postgresql"):
        with psycopg.connect(dsn) as postgres:
            yield postgres
        return
    with closing(sqlite3.connect(dsn.removeprefix("sqlite:///"))) as sqlite, sqlite:
        yield sqlite
