"""Programs that clients deploy: they are called, undone and brought back as any other account."""

from __future__ import annotations

from typing import Any

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer

from conformance.lanes.solana import relay_program


def deploy_relay(bench: Any, payer: Keypair) -> Keypair:
    """Deploy a program that carries out the instruction it is given, by the loader's own transactions."""
    buffer, program, me = Keypair(), Keypair(), payer.pubkey()
    rent = bench.call("getMinimumBalanceForRentExemption", relay_program.BUFFER_HEAD + len(relay_program.build_elf()))
    buffer_steps = relay_program.make_buffer(me, buffer.pubkey(), rent)
    bench.send(bench.sign(buffer_steps, payer, buffer), preflightCommitment="processed")
    for part in relay_program.write_buffer(me, buffer.pubkey()):
        bench.send(bench.sign([part], payer), preflightCommitment="processed")
    rent = bench.call("getMinimumBalanceForRentExemption", relay_program.PROGRAM_SIZE)
    steps = relay_program.deploy(me, buffer.pubkey(), program.pubkey(), rent)
    bench.send(bench.sign(steps, payer, program), preflightCommitment="processed")
    bench.slots(1)
    return program


def relay_payment(bench: Any, payer: Keypair, program: Keypair, amount: int) -> Any:
    """Return the outcome of a payment of lamports to a fresh account through the program."""
    receiver = Pubkey.new_unique()
    transfer_step = transfer(TransferParams(from_pubkey=payer.pubkey(), to_pubkey=receiver, lamports=amount))
    call = relay_program.call_through(program.pubkey(), transfer_step)
    signature = bench.send(bench.sign([call], payer, blockhash=bench.chain.head.hash), skipPreflight=True)
    status = bench.status(signature)
    return None if status is None else (status["err"], bench.balance(receiver))


def test_a_deployed_program_is_called_undone_and_brought_back(bench: Any) -> None:
    """A snapshot with it restores it; a reorganisation to before it takes it away; it can be deployed again."""
    payer = bench.fund_account(lamports=10**10)
    empty = bench.control("snapshot")["id"]
    program = deploy_relay(bench, payer)
    assert relay_payment(bench, payer, program, 10**6) == (None, 10**6)
    full = bench.control("snapshot")["id"]
    bench.control("restore", id=empty)
    assert relay_payment(bench, payer, program, 10**6) != (None, 10**6)
    bench.control("restore", id=full)
    assert relay_payment(bench, payer, program, 10**6) == (None, 10**6)
    bench.control("reorg", depth=20)
    assert bench.chain.account(program.pubkey()) is None
    assert relay_payment(bench, payer, program, 10**6) != (None, 10**6)
    bench.slots(33)
    again = deploy_relay(bench, payer)
    bench.slots(33)
    assert relay_payment(bench, payer, again, 10**6) == (None, 10**6)


def test_a_call_to_no_program_names_its_accounts_nowhere(bench: Any) -> None:
    """The preflight refuses what cannot be executed."""
    payer = bench.fund_account()
    call = Instruction(Pubkey.new_unique(), b"", [AccountMeta(payer.pubkey(), True, True)])
    error = bench.send_refused(bench.sign([call], payer))["data"]["err"]
    assert error in ("ProgramAccountNotFound", "InvalidProgramForExecution")
