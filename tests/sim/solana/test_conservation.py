"""Whatever happens, money is neither made nor lost, and what was undone leaves no trace."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from solders.keypair import Keypair

from sim.solana.token_accounts import read_mint

_OWNERS = st.integers(0, 2)


def _bench() -> Any:
    """Return a fresh bench; a state machine cannot take a fixture."""
    spec = spec_from_file_location("solana_bench", Path(__file__).with_name("conftest.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Bench(window=20)


class Money(RuleBasedStateMachine):
    """Payments, failures, slots, reorganisations and snapshots in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = _bench()
        self.born = self.bench.chain.totals()["lamports"]
        self.owners = [Keypair.from_seed(bytes([number + 1]) * 32) for number in range(3)]
        for owner in self.owners:
            self.bench.control("fund", address=str(owner.pubkey()), amount="50000000")
        self.past = [(self.bench.chain.head.number, self._state())]
        self.kept: list[tuple[int, Any]] = []
        self.bench.slots(1)

    def _state(self) -> Any:
        return self.bench.chain.totals(), [one.sent.id for one in self.bench.chain.ledger.entries()]

    def _recent(self) -> Any:
        return self.bench.chain.head.hash

    @rule(owner=_OWNERS, amount=st.integers(1, 1000))
    def mint(self, owner: int, amount: int) -> None:
        """The token's authority makes tokens."""
        self.bench.control("mint", address=str(self.owners[owner].pubkey()), amount=str(amount))

    @rule(payer=_OWNERS, payee=_OWNERS, amount=st.integers(0, 1500))
    def pay(self, payer: int, payee: int, amount: int) -> None:
        """Tokens move, or the payment fails in a block."""
        owner, receiver = self.owners[payer], self.owners[payee].pubkey()
        self.bench.send(self.bench.payment(owner, receiver, amount, blockhash=self._recent()), skipPreflight=True)

    @rule(payer=_OWNERS, payee=_OWNERS, amount=st.integers(0, 60_000_000))
    def pay_lamports(self, payer: int, payee: int, amount: int) -> None:
        """Lamports move, or the payment fails, or its payer cannot pay the fee."""
        owner, receiver = self.owners[payer], self.owners[payee].pubkey()
        self.bench.send(self.bench.lamports(owner, receiver, amount, blockhash=self._recent()), skipPreflight=True)

    @rule()
    def close_slot(self) -> None:
        """A slot closes; what it left is remembered."""
        self.past.append((self.bench.chain.head.number, self._state()))
        self.bench.slots(1)

    @precondition(lambda self: len(self.past) > 1)
    @rule(data=st.data())
    def reorganise(self, data: st.DataObject) -> None:
        """Everything after a remembered slot is undone."""
        place = data.draw(st.integers(0, len(self.past) - 1))
        slot, state = self.past[place]
        self.bench.control("reorg", depth=self.bench.chain.head.number - slot)
        assert state == self._state()
        self.past = self.past[: place + 1]

    @rule()
    def snapshot(self) -> None:
        """The chain is kept."""
        self.past.append((self.bench.chain.head.number, self._state()))
        self.kept.append((self.bench.control("snapshot")["id"], (self._state(), list(self.past))))

    @precondition(lambda self: bool(self.kept))
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        """The chain is as it was kept."""
        number, (state, past) = data.draw(st.sampled_from(self.kept))
        self.bench.control("restore", id=number)
        assert state == self._state()
        self.past = list(past)

    @invariant()
    def lamports_are_conserved_but_fees(self) -> None:
        """What is missing are the fees of what landed."""
        assert self.born == self.bench.chain.totals()["lamports"] + self.bench.total_fees()

    @invariant()
    def supply_is_what_all_accounts_hold(self) -> None:
        """A mint counts exactly the tokens that there are."""
        mint = read_mint(self.bench.chain.account(self.bench.usdc))
        assert mint is not None
        assert mint.supply == self.bench.chain.totals().get(str(self.bench.usdc), 0)

    @invariant()
    def the_vm_has_what_the_journal_has(self) -> None:
        """Nothing is in the VM that the record of accounts does not know, and the other way round."""
        chain = self.bench.chain
        assert all(chain.vm.account(key) == chain.account(key) for key in chain.accounts.known_keys())


TestMoney = Money.TestCase
TestMoney.settings = settings(max_examples=15, stateful_step_count=25, deadline=None, derandomize=True)
