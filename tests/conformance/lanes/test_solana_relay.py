"""The suite's own Solana program in a real SVM: what it passes on, with which rights, and how it fails."""

from __future__ import annotations

import hashlib

import pytest
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.message import Message
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata, TransactionMetadata

from conformance.lanes.solana import relay_program

RENT = 10**6


@pytest.fixture
def chain() -> LiteSVM:
    return LiteSVM()


@pytest.fixture
def payer(chain: LiteSVM) -> Keypair:
    pair = Keypair()
    chain.airdrop(pair.pubkey(), 10**10)
    return pair


def send(
    chain: LiteSVM, payer: Keypair, instructions: list[Instruction], *signers: Keypair
) -> TransactionMetadata | FailedTransactionMetadata:
    message = Message.new_with_blockhash(instructions, payer.pubkey(), chain.latest_blockhash())
    return chain.send_transaction(VersionedTransaction(message, [payer, *signers]))


def deploy_program(chain: LiteSVM, payer: Keypair) -> Pubkey:
    """Deploy the program by the loader's own instructions, as a client does it."""
    buffer, program, me = Keypair(), Keypair(), payer.pubkey()
    rent = chain.minimum_balance_for_rent_exemption(relay_program.BUFFER_HEAD + len(relay_program.build_elf()))
    steps = [(relay_program.make_buffer(me, buffer.pubkey(), rent), [buffer])]
    steps += [([part], []) for part in relay_program.write_buffer(me, buffer.pubkey())]
    rent = chain.minimum_balance_for_rent_exemption(relay_program.PROGRAM_SIZE)
    steps += [(relay_program.deploy(me, buffer.pubkey(), program.pubkey(), rent), [program])]
    for instructions, signers in steps:
        assert isinstance(send(chain, payer, instructions, *signers), TransactionMetadata)
    chain.warp_to_slot(chain.get_clock().slot + 1)
    return program.pubkey()


def gift(payer: Keypair, to: Pubkey, lamports: int) -> Instruction:
    return transfer(TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=lamports))


def test_the_inner_call_is_made_with_the_accounts_and_data_it_was_given(chain: LiteSVM, payer: Keypair) -> None:
    """The called program does what it would have done at the top, once, one level down."""
    program, to = deploy_program(chain, payer), Keypair().pubkey()
    outcome = send(chain, payer, [relay_program.call_through(program, gift(payer, to, RENT))])
    assert isinstance(outcome, TransactionMetadata)
    assert chain.get_balance(to) == RENT
    (inner,) = outcome.inner_instructions()[0]
    assert inner.stack_height() == 2
    assert bytes(inner.instruction().data) == bytes(gift(payer, to, RENT).data)
    assert len(inner.instruction().accounts) == 2


def test_accounts_of_the_outer_call_only_do_not_reach_the_inner_one(chain: LiteSVM, payer: Keypair) -> None:
    """What stands after the called program is named by the outer call and by nothing else."""
    program, to, aside = deploy_program(chain, payer), Keypair().pubkey(), Keypair().pubkey()
    relay_call = relay_program.call_through(program, gift(payer, to, RENT), outer_only=[aside])
    assert relay_call.accounts[-1] == AccountMeta(aside, is_signer=False, is_writable=False)
    outcome = send(chain, payer, [relay_call])
    assert isinstance(outcome, TransactionMetadata)
    (inner,) = outcome.inner_instructions()[0]
    assert len(inner.instruction().accounts) == 2


def test_an_inner_call_that_fails_fails_the_transaction(chain: LiteSVM, payer: Keypair) -> None:
    """Nothing moves when the called program refuses."""
    program, to = deploy_program(chain, payer), Keypair().pubkey()
    assert isinstance(
        send(chain, payer, [relay_program.call_through(program, gift(payer, to, 10**18))]), FailedTransactionMetadata
    )
    assert not chain.get_balance(to)


def test_the_relay_signs_for_nobody(chain: LiteSVM, payer: Keypair) -> None:
    """Money of an account that has not signed cannot be moved through it."""
    program, victim = deploy_program(chain, payer), Keypair()
    chain.airdrop(victim.pubkey(), 10**9)
    theft = gift(victim, payer.pubkey(), RENT)
    unsigned_accounts = [
        AccountMeta(one.pubkey, is_signer=False, is_writable=one.is_writable) for one in theft.accounts
    ]
    relay_call = relay_program.call_through(
        program, Instruction(theft.program_id, bytes(theft.data), unsigned_accounts)
    )
    assert isinstance(send(chain, payer, [relay_call]), FailedTransactionMetadata)
    assert chain.get_balance(victim.pubkey()) == 10**9


def test_the_file_is_the_same_everywhere() -> None:
    """The program is a function of its source; a change of it is meant, and shows here."""
    assert (
        hashlib.sha256(relay_program.build_elf()).hexdigest()
        == "8cc3730e59fe4d6dedb321d40cb5148ed38cb576fd9b25f790527f426026857b"
    )
