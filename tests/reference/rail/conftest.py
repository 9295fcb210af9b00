"""One simulated chain for all tests of the rail; a payee and a payer on it; a rail a module, or one of its own."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from eth_account import Account

from reference.protocol.redemption import State
from reference.store.settlements import Fate
from tests.reference.rail.base_stack import PRICE, BasePayer, Settler, SimulatedBase, base_settings, until
from tests.reference.rail.fleet import Shopping, fleet
from tests.reference.rail.rail_stack import USDC, Payer, Rail, SimulatedChain
from tests.reference.rail.rail_tables import rows_of, settlements_of

PAYERS = 4


@pytest.fixture(scope="module")
def chain() -> Iterator[SimulatedChain]:
    """A simulated Algorand."""
    simulation = SimulatedChain()
    yield simulation
    simulation.stop()


@pytest.fixture(scope="module")
def pay_to(chain: SimulatedChain) -> str:
    """A payee's address that holds USDC."""
    return chain.new_payee()


@pytest.fixture(scope="module")
def payer(chain: SimulatedChain) -> Payer:
    """A payer with money."""
    return Payer(chain)


@pytest.fixture(scope="module")
def rail(chain: SimulatedChain, pay_to: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rail]:
    """A rail with its limits switched off, for every test of a module."""
    new_rail = Rail(chain, tmp_path_factory.mktemp("rail"), pay_to).start()
    yield new_rail
    new_rail.close()


@pytest.fixture
def own_rail(chain: SimulatedChain, pay_to: str, tmp_path: Path) -> Iterator[Callable[..., Rail]]:
    """Make rails that belong to one test alone: `own_rail(WP_…="…", mutant=…)`."""
    created_items: list[Rail] = []
    with ExitStack() as exits:  # one that ends badly leaves no other behind

        def make(*, mutant: str | None = None, **settings: str) -> Rail:
            created_items.append(Rail(chain, tmp_path / f"rail{len(created_items)}", pay_to, dict(settings), mutant))
            exits.callback(created_items[-1].close)
            return created_items[-1].start()

        yield make


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest) -> dict[str, str]:
    """Settings of an empty database."""
    return {} if request.param == "sqlite" else {"WP_RAIL_DB": request.getfixturevalue("postgres_database")}


@pytest.fixture
def calm_chain(chain: SimulatedChain) -> Iterator[SimulatedChain]:
    """The chain, for tests that switch faults on: none is left behind."""
    yield chain
    chain.calm()


@pytest.fixture(scope="module")
def base() -> Iterator[SimulatedBase]:
    """A simulated Base."""
    simulation = SimulatedBase()
    yield simulation
    simulation.stop()


@pytest.fixture
def calm_base(base: SimulatedBase) -> Iterator[SimulatedBase]:
    """The simulated Base, for tests that trouble it: nothing of that is left behind."""
    yield base
    base.calm()


@pytest.fixture
def base_payer(base: SimulatedBase) -> BasePayer:
    """A payer with money on Base."""
    return BasePayer(base)


@pytest.fixture
def settler(base: SimulatedBase, tmp_path: Path) -> Settler:
    """An account that only one test's rail settles from."""
    return Settler(base, tmp_path)


@pytest.fixture
def on_base(base: SimulatedBase, settler: Settler) -> dict[str, str]:
    """Settings of a rail that offers Base alone, to a payee of its own."""
    return base_settings(base, settler, Account.create().address)


@pytest.fixture
def slow_base() -> Iterator[SimulatedBase]:
    """A Base of one test alone, whose blocks come when the test says so."""
    simulation = SimulatedBase(block_seconds=3600)
    yield simulation
    simulation.stop()


@pytest.fixture
def shop(
    chain: SimulatedChain, pay_to: str, base: SimulatedBase, tmp_path: Path, postgres_database: str
) -> Callable[..., None]:
    """Let clients buy, and hold what they got against what the chains and the ledger show."""

    def held_on_algorand(address: str) -> int:
        match = chain.client.account_asset_info(address, USDC)
        return int(match["asset-holding"]["amount"])  # type: ignore[call-overload]

    def run_shop(count: int, *, workers: int, kills: int, lanes: str, at_once: int) -> None:
        payee, seed = Account.create().address, secrets.randbits(32)
        settler = Settler(base, tmp_path)
        settings = base_settings(base, settler, payee, lanes) | {"WP_RAIL_DB": postgres_database}
        on_algorand = [Payer(chain) for _ in range(PAYERS)] if "algorand" in lanes else []
        on_base = [BasePayer(base) for _ in range(PAYERS)]
        before = sum(held_on_algorand(payer.address) for payer in on_algorand)
        kept = held_on_algorand(pay_to)
        with fleet(chain, tmp_path / "fleet", pay_to, workers, settings) as running:
            shopping = Shopping(running, on_algorand, on_base, seed, kills)
            started_at = time.monotonic()
            answers = shopping.buy(count, at_once=at_once)
            seconds = time.monotonic() - started_at
            assert [answer.text for answer in answers if answer.status_code != 200] == [], seed
            until(lambda: all(one.fate is not Fate.OPEN for one in settlements_of(running[0])))
            rows, rows_left = rows_of(running[0]), settlements_of(running[0])
        receipts = {answer.json()["payable_receipt"] for answer in answers}
        assert len(receipts) == count, seed
        assert sorted(row.answer or b"" for row in rows if row.state is State.SPENT) == sorted(
            answer.content for answer in answers
        )
        assert len({row.payment_key for row in rows}) == len(rows) == count, seed
        moved_on_base = sum(10**8 - payer.usdc for payer in on_base)
        moved = moved_on_base + before - sum(held_on_algorand(payer.address) for payer in on_algorand)
        assert moved == count * PRICE, seed
        assert base.usdc_of(payee) + held_on_algorand(pay_to) - kept == count * PRICE
        assert [one.nonce for one in rows_left] == list(range(base.count_of(settler.address)))
        assert len([one for one in rows_left if one.fate is Fate.SETTLED]) == moved_on_base // PRICE
        report = f"{count} payments, {workers} workers, {shopping.killed} killed, {seconds:.1f} s, seed {seed}"
        print(report, f"{len(rows_left)} settlements, {moved} atomic units moved", sep=": ")  # noqa: T201 - the run's figures

    return run_shop
