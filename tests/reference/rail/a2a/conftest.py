"""A rail with all three lanes, and a payer with money on each of them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pytest
from eth_account import Account
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url

from tests.reference.rail.base_stack import BasePayer, Settler, SimulatedBase, base_settings, until
from tests.reference.rail.rail_stack import Payer, Rail, SimulatedChain, proof_of
from tests.reference.rail.solana_stack import SimulatedSolana, SolanaPayer, solana_settings

LANES = "algorand_mainnet,base_mainnet,solana_mainnet"
Paying: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]


@pytest.fixture(scope="module")
def solana() -> Iterator[SimulatedSolana]:
    """A simulated Solana."""
    simulation = SimulatedSolana()
    yield simulation
    simulation.stop()


@pytest.fixture(scope="module")
def three_lanes(
    chain: SimulatedChain,
    pay_to: str,
    base: SimulatedBase,
    solana: SimulatedSolana,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Rail]:
    """A rail that offers every lane."""
    folder: Path = tmp_path_factory.mktemp("lanes")
    settings = base_settings(base, Settler(base, folder), Account.create().address)
    settings |= solana_settings(solana, SolanaPayer(solana, usdc=1).address, LANES)
    new_rail = Rail(chain, folder / "rail", pay_to, settings).start()
    yield new_rail
    new_rail.close()


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def workers(
    request: pytest.FixtureRequest, chain: SimulatedChain, pay_to: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Rail]]:
    """Two workers of one rail: the same database, secrets and public address."""
    folder: Path = tmp_path_factory.mktemp("workers")
    settings = {"WP_RAIL_DATA_DIR": str(folder / "worker0" / "data"), "WP_RAIL_JOIN_WAIT": "50"}
    if request.param == "postgres":
        server = make_url(request.getfixturevalue("postgres_server"))
        name = f"weldproof_{uuid.uuid4().hex}"
        with psycopg.connect(server.render_as_string(hide_password=False), autocommit=True) as connection:
            connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        settings["WP_RAIL_DB"] = server.set(database=name).render_as_string(hide_password=False)
    running = [Rail(chain, folder / f"worker{number}", pay_to, dict(settings)) for number in range(2)]
    running[1].settings["WP_RAIL_PUBLIC_URL"] = running[0].public_url
    with ExitStack() as exits:  # one that ends badly leaves no other behind
        for one in running:
            one.start()
            exits.callback(one.close)
        yield running


@pytest.fixture(scope="module")
def payments(payer: Payer, base: SimulatedBase, solana: SimulatedSolana) -> Mapping[str, Paying]:
    """By the beginning of a lane's CAIP-2 name: from an entry to the proof of its payment."""
    on_solana = SolanaPayer(solana)
    finalized = {"commitment": "finalized"}
    until(lambda: solana.ask("getBalance", on_solana.address, finalized)["value"])
    return {
        "algorand": lambda entry: proof_of(payer.pay(entry), entry),
        "eip155": BasePayer(base).authorize,
        "solana": on_solana.pay,
    }
