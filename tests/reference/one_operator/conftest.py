"""Three simulated chains for all tests of a module, and operators on a database of each kind."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from reference.store.database_url import sqlite_dsn
from tests.reference.one_operator.selling import Operator
from tests.reference.postgres_cluster import own_database
from tests.reference.rail.base_stack import SimulatedBase
from tests.reference.rail.rail_stack import SimulatedChain
from tests.reference.rail.solana_stack import SimulatedSolana


@pytest.fixture(scope="module")
def algorand() -> Iterator[SimulatedChain]:
    """A simulated Algorand."""
    simulation = SimulatedChain()
    yield simulation
    simulation.stop()


@pytest.fixture(scope="module")
def base() -> Iterator[SimulatedBase]:
    """A simulated Base."""
    simulation = SimulatedBase()
    yield simulation
    simulation.stop()


@pytest.fixture(scope="module")
def solana() -> Iterator[SimulatedSolana]:
    """A simulated Solana."""
    simulation = SimulatedSolana()
    yield simulation
    simulation.stop()


@pytest.fixture(scope="module")
def operators(
    request: pytest.FixtureRequest,
    algorand: SimulatedChain,
    base: SimulatedBase,
    solana: SimulatedSolana,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], Operator]]:
    """Make operators, by their databases: `operators("sqlite")`; they run until the module ends."""
    with ExitStack() as exits:

        def make_operator(databases: str) -> Operator:
            folder = tmp_path_factory.mktemp("operator")
            dsn = "" if databases == "apart" else sqlite_dsn(folder / "all.sqlite3")
            if databases == "postgres":
                dsn = exits.enter_context(own_database(request.getfixturevalue("postgres_server")))
            return Operator(algorand, base, solana, folder, dsn, exits)

        yield make_operator


@pytest.fixture(scope="module")
def find_shared(operators: Callable[[str], Operator]) -> Callable[[str], Operator]:
    """Find the one operator of the module that has such databases."""
    return functools.cache(operators)


_SLOW = pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.slow])


@pytest.fixture(params=["apart", "sqlite", _SLOW])
def operator(request: pytest.FixtureRequest, find_shared: Callable[[str], Operator]) -> Operator:
    """An operator with a database for each service, or with one for all; what it runs has sold before."""
    match = find_shared(request.param)
    match.put_back()
    return match


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def new_operator(request: pytest.FixtureRequest, operators: Callable[[str], Operator]) -> Operator:
    """An operator with one new database for all."""
    return operators(request.param)
