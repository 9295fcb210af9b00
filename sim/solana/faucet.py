"""The chain's bank: it has the lamports and mints the tokens, by ordinary signed transactions."""

from __future__ import annotations

from collections.abc import Sequence

from solders.compute_budget import set_compute_unit_limit
from solders.instruction import Instruction
from solders.message import Message
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from spl.token.instructions import create_idempotent_associated_token_account, mint_to
from spl.token.models import MintToParams

from sim.solana.chain import Chain
from sim.solana.token_accounts import TOKEN, associated_address
from sim.solana.views import error_text

_UNITS, _UNIT_STEPS = 200_000, 1_000_000


class BankFailed(Exception):
    """The chain did not take the bank's transaction; the text is the chain's reason."""


def fund(chain: Chain, receiver: Pubkey, lamports: int) -> str:
    """Send lamports and return the signature.

    Raises:
        BankFailed: The chain refuses, for instance because the account would stay below rent exemption.
    """
    payer = chain.bank.pubkey()
    return _land(chain, [transfer(TransferParams(from_pubkey=payer, to_pubkey=receiver, lamports=lamports))])


def mint(chain: Chain, owner: Pubkey, token: Pubkey, amount: int) -> str:
    """Mint tokens into an owner's associated account, made when missing; return the signature.

    Raises:
        BankFailed: The chain refuses.
    """
    payer = chain.bank.pubkey()
    instructions = [create_idempotent_associated_token_account(payer, owner, token, TOKEN)]
    if amount:
        to = MintToParams(
            program_id=TOKEN,
            mint=token,
            dest=associated_address(owner, token),
            mint_authority=payer,
            amount=amount,
            signers=[],
        )
        instructions.append(mint_to(to))
    return _land(chain, instructions)


def _land(chain: Chain, instructions: Sequence[Instruction]) -> str:
    """Two payments that are alike would be one: their compute limits tell them apart."""
    unlike = set_compute_unit_limit(_UNITS + len(chain.ledger) % _UNIT_STEPS)
    message = Message.new_with_blockhash([unlike, *instructions], chain.bank.pubkey(), chain.head.hash)
    transaction = VersionedTransaction(message, [chain.bank])
    outcome = chain.try_out(transaction, chain.head.number)
    if outcome.err is not None or chain.land(transaction) is None:
        raise BankFailed(error_text(outcome.err))
    return str(transaction.signatures[0])
