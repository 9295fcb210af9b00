"""RAIL-PAY-18 on Solana: paid answers to transactions of wallets with other habits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from solders.instruction import Instruction
from solders.pubkey import Pubkey

from conformance.assertions.rail.paid_answer_members import ROW, judge_sale
from conformance.assertions.rail.solana.challenge_payments import Quoted, get_solana_payer
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.lanes.solana.instructions import TokenTransfer, memo
from conformance.lanes.solana.payer import SolanaPayer
from conformance.lanes.solana.wallet_shapes import Part, Shape, Tables, list_shapes, send_in_shape
from conformance.surfaces.rail.keys import published_did, published_keys

# Around one transfer; a wallet may add a part any number of times, and in any order.
_SIDE_PARTS: Final = (Part.MEMO, Part.BUDGET, Part.ACCOUNT)
_DRAWN_SHAPES, _MOST_MEMOS = 3, 9
Habit = Callable[[Quoted], Awaitable[str]]


@check(
    ROW,
    surface="rail",
    lane="solana",
    fix="Look for the transfer among all instructions, and let other programs' instructions pass. Compute each member "
    "of the answer from the challenge and the transfer, and not from the fee payer or the first instruction.",
    quick=sample("habits"),
)
async def answers_to_habits_on_solana(case: Case) -> None:
    """Each member of a paid answer is right, whatever habit the payer's wallet on Solana has.

    Pays each operation in turn: in each shape of transaction that wallets make, in shapes drawn from the seed, by a
    Transfer without a mint, with another account as the fee payer, with further accounts after the reference, and
    between two other transfers. Expects 200 with exactly the members of 5.9, each computed from request, challenge and
    transfer, and the same bytes for the same proof again.
    """
    payer, operations = await get_solana_payer(case), case.session.catalog.operations
    keys, did = (await published_keys(case))[0], await published_did(case)
    shapes, _ = await list_shapes(payer)
    habits = {
        **{shape.name: _pay_in(payer, shape) for shape in (*shapes, *_draw_shapes(case))},
        **_list_other_habits(payer, Pubkey(case.rng.randbytes(32))),
    }

    async def attempt(number: int, habit: str) -> None:
        quote = await Quoted.ask(case, operations[number % len(operations)])
        await judge_sale(case, quote.quote, quote.proof(await habits[habit](quote)), keys, did, habit)

    await run_concurrently((attempt(number, habit) for number, habit in enumerate(case.sample(habits))), at_once=4)


def _draw_shapes(case: Case) -> list[Shape]:
    """Draw shapes of a wallet's transaction: parts before and after the transfer, and a kind of transaction."""
    shapes = []
    for number in range(_DRAWN_SHAPES):
        # A compute budget and the creation of an account may be in a transaction once only.
        sides = [[Part.MEMO] * case.rng.randint(0, _MOST_MEMOS), [Part.MEMO] * case.rng.randint(0, _MOST_MEMOS)]
        for part in _SIDE_PARTS[1:]:
            sides[0 if part is Part.ACCOUNT else case.rng.randint(0, 1)].insert(0, part)
        tables = case.rng.choice((Tables.LEGACY, Tables.NONE))
        name = f"drawn shape {number + 1}: {len(sides[0])} instructions before, {len(sides[1])} after, {tables.name}"
        shapes.append(Shape(name, (*sides[0], Part.TRANSFER, *sides[1]), tables))
    return shapes


def _pay_in(payer: SolanaPayer, shape: Shape) -> Habit:
    async def pay(quote: Quoted) -> str:
        return await send_in_shape(payer, shape, await quote.transfer(), quote.order.payee, b"thank you")

    return pay


def _list_other_habits(payer: SolanaPayer, stranger: Pubkey) -> Mapping[str, Habit]:
    me = payer.main.key

    def surround(transfer: TokenTransfer) -> list[Instruction]:
        tip = transfer.with_changes(amount=1, references=(), destination=transfer.source).instruction()
        return [tip, memo(me, b"for the call"), transfer.instruction(), tip]

    async def pay_by_other_account(quote: Quoted) -> str:
        return await quote.send(send_arguments={"sender": await payer.new_account(), "signers": [payer.main]})

    return {
        "a Transfer without a mint": lambda quote: quote.send(decimals=None),
        "the reference writable": lambda quote: quote.send(writable=True),
        "further accounts after the reference": lambda quote: quote.send(
            references=(quote.order.reference, stranger, me)
        ),
        "between two other transfers": lambda quote: quote.send(surround),
        "another account pays the fee": pay_by_other_account,
    }
