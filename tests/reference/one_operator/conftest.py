"""Three simulated chains for all tests of a module, and an operator on a database of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reference.store.opening import sqlite_dsn
from tests.reference.one_operator.selling import Operator, operator
from tests.reference.rail.base_stack import SimulatedBase
from tests.reference.rail.rail_stack import SimulatedChain
from tests.reference.rail.solana_stack import SimulatedSolana


@pytest.fixture(scope="module")
def algorand() -> Iterator[SimulatedChain]:
    """A simulated Algorand."""
    running = SimulatedChain()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def base() -> Iterator[SimulatedBase]:
    """A simulated Base."""
    running = SimulatedBase()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def solana() -> Iterator[SimulatedSolana]:
    """A simulated Solana."""
    running = SimulatedSolana()
    yield running
    running.stop()


@pytest.fixture
def apart(algorand: SimulatedChain, base: SimulatedBase, solana: SimulatedSolana, tmp_path: Path) -> Iterator[Operator]:
    """An operator each of whose services has a database of its own."""
    with operator(algorand, base, solana, tmp_path, "") as made:
        yield made


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def together(
    request: pytest.FixtureRequest,
    algorand: SimulatedChain,
    base: SimulatedBase,
    solana: SimulatedSolana,
    tmp_path: Path,
) -> Iterator[Operator]:
    """An operator with one database."""
    sqlite = request.param == "sqlite"
    dsn = sqlite_dsn(tmp_path / "all.sqlite3") if sqlite else request.getfixturevalue("postgres_database")
    with operator(algorand, base, solana, tmp_path, dsn) as made:
        yield made


@pytest.fixture(params=["apart", "together"])
def either(request: pytest.FixtureRequest) -> Operator:
    """An operator with a database for each service, or with one."""
    made: Operator = request.getfixturevalue(request.param)
    return made
