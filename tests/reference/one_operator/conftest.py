"""Three simulated chains for all tests of a module, and an operator on a database of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from reference.store.opening import sqlite_dsn
from tests.reference.one_operator.selling import Operator
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


@pytest.fixture(params=["apart", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def operator(
    request: pytest.FixtureRequest,
    algorand: SimulatedChain,
    base: SimulatedBase,
    solana: SimulatedSolana,
    tmp_path: Path,
) -> Iterator[Operator]:
    """An operator with a database for each service, or with one for all."""
    dsn = "" if request.param == "apart" else sqlite_dsn(tmp_path / "all.sqlite3")
    if request.param == "postgres":
        dsn = request.getfixturevalue("postgres_database")
    with ExitStack() as exits:
        yield Operator(algorand, base, solana, tmp_path, dsn, exits)


# Where surfaces share a database.
one_database = pytest.mark.parametrize(
    "operator", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
