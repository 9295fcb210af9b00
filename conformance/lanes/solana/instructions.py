"""Instructions of the token, memo and system programs for payments and attacks; this module sends nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account
from solders.token.state import Mint, TokenAccount
from spl.memo.constants import MEMO_PROGRAM_ID
from spl.token import instructions as token
from spl.token import models
from spl.token.constants import ACCOUNT_LEN, MINT_LEN, TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID
from spl.token.instructions import get_associated_token_address as associated_account
from spl.token.models import AuthorityType

from conformance.outcome import Inconclusive

__all__ = [
    "TOKEN_2022_PROGRAM_ID",
    "Order",
    "TokenTransfer",
    "approve",
    "associated_account",
    "hand_over",
    "make_account",
    "make_mint",
    "memo",
    "mint_to",
]

_UINT64 = 2**64


@dataclass(frozen=True, slots=True)
class TokenTransfer:
    """One transfer of the SPL Token program.

    Attributes:
        mint: The token.
        source: Token account that is debited.
        destination: Token account that is credited.
        owner: The account that may move the tokens of `source`, and signs.
        amount: Atomic units.
        decimals: Decimals of the mint; None for a plain Transfer, which does not name the mint.
        references: Further accounts after the owner, read-only and not signing.
        writable: Whether the further accounts are nevertheless marked writable.
        program: The token program that is called.
    """

    mint: Pubkey
    source: Pubkey
    destination: Pubkey
    owner: Pubkey
    amount: int
    decimals: int | None
    references: tuple[Pubkey, ...] = ()
    writable: bool = False
    program: Pubkey = TOKEN_PROGRAM_ID

    def with_changes(self, **changes: Any) -> TokenTransfer:
        """Return a copy with members changed."""
        return replace(self, **changes)

    def instruction(self) -> Instruction:
        """Return the instruction."""
        common: dict[str, Any] = {
            "program_id": self.program,
            "source": self.source,
            "dest": self.destination,
            "owner": self.owner,
            "amount": self.amount,
        }
        if self.decimals is None:
            instruction = token.transfer(models.TransferParams(**common))
        else:
            params = models.TransferCheckedParams(**common, mint=self.mint, decimals=self.decimals)
            instruction = token.transfer_checked(params)
        return with_accounts(instruction, self.references, writable=self.writable)


def with_accounts(instruction: Instruction, keys: Sequence[Pubkey], *, writable: bool = False) -> Instruction:
    """Return the instruction with further accounts after its own."""
    metas = [AccountMeta(key, is_signer=False, is_writable=writable) for key in keys]
    return Instruction(instruction.program_id, bytes(instruction.data), [*instruction.accounts, *metas])


@dataclass(frozen=True, slots=True)
class Order:
    """The payment of an `accepts` entry.

    Attributes:
        mint: The token.
        payee: The owner that is to be paid.
        price: Atomic units.
        reference: The account that welds the transfer to the challenge.
        text: The challenge token.
    """

    mint: Pubkey
    payee: Pubkey
    price: int
    reference: Pubkey
    text: str

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Order:
        """Read an entry.

        Raises:
            Inconclusive: It is malformed.
        """
        price = str(entry.get("maxAmountRequired"))
        if not (price.isascii() and price.isdecimal() and int(price) < _UINT64):
            raise Inconclusive(f"the entry's maxAmountRequired {price[:80]!r} is no amount of atomic units")
        extra = entry.get("extra")
        members = extra if isinstance(extra, dict) else {}
        text = members.get("payment_reference")
        if not isinstance(text, str) or not text:
            raise Inconclusive("the entry has no extra.payment_reference, so no payment can be presented for it")
        reference = pubkey(_reference(members), "reference account")
        return cls(
            pubkey(entry.get("asset"), "asset"), pubkey(entry.get("payTo"), "payTo"), int(price), reference, text
        )

    @property
    def destination(self) -> Pubkey:
        """The payee's associated token account."""
        return associated_account(self.payee, self.mint)


def _reference(members: Mapping[str, Any]) -> object:
    """Return the reference account of `extra`, under any member name that contains `reference`."""
    candidates = (
        value for name, value in members.items() if "reference" in name.lower() and name != "payment_reference"
    )
    # The interface does not fix the member's name; the reference uses the first one.
    return members.get("svm_reference_pubkey") or next(candidates, None)


def pubkey(text: object, member: str) -> Pubkey:
    """Read an address.

    Raises:
        Inconclusive: It is not an address.
    """
    try:
        return Pubkey.from_string(str(text))
    except ValueError as fault:
        raise Inconclusive(f"the entry's {member} {str(text)[:80]!r} is not a Solana address") from fault


def memo(signer: Pubkey, text: bytes) -> Instruction:
    """Return a memo, signed by `signer`."""
    return Instruction(MEMO_PROGRAM_ID, text, [AccountMeta(signer, is_signer=True, is_writable=False)])


def make_account(payer: Pubkey, fresh: Pubkey, mint: Pubkey, owner: Pubkey, rent: int) -> list[Instruction]:
    """Return instructions that make `fresh` a token account of `owner`, not the associated one; `fresh` signs."""
    params = models.InitializeAccount3Params(program_id=TOKEN_PROGRAM_ID, account=fresh, mint=mint, owner=owner)
    return [_create(payer, fresh, rent, ACCOUNT_LEN), token.initialize_account3(params)]


def make_mint(
    payer: Pubkey, fresh: Pubkey, decimals: int, rent: int, program: Pubkey = TOKEN_PROGRAM_ID
) -> list[Instruction]:
    """Return instructions that make `fresh` a mint of a token program, its authority `payer`; `fresh` signs."""
    params = models.InitializeMint2Params(program_id=program, mint=fresh, decimals=decimals, mint_authority=payer)
    return [_create(payer, fresh, rent, MINT_LEN, program), token.initialize_mint2(params)]


def _create(payer: Pubkey, fresh: Pubkey, rent: int, size: int, program: Pubkey = TOKEN_PROGRAM_ID) -> Instruction:
    params = CreateAccountParams(from_pubkey=payer, to_pubkey=fresh, lamports=rent, space=size, owner=program)
    return create_account(params)


def mint_to(
    mint: Pubkey, destination: Pubkey, authority: Pubkey, amount: int, program: Pubkey = TOKEN_PROGRAM_ID
) -> Instruction:
    """Return an instruction that makes new tokens."""
    params = models.MintToParams(
        program_id=program, mint=mint, dest=destination, mint_authority=authority, amount=amount
    )
    return token.mint_to(params)


def hand_over(account: Pubkey, owner: Pubkey, to: Pubkey) -> Instruction:
    """Return an instruction that makes `to` the owner of a token account."""
    params = models.SetAuthorityParams(
        program_id=TOKEN_PROGRAM_ID,
        account=account,
        authority=AuthorityType.ACCOUNT_OWNER,
        current_authority=owner,
        new_authority=to,
    )
    return token.set_authority(params)


def approve(account: Pubkey, owner: Pubkey, delegate: Pubkey, amount: int) -> Instruction:
    """Return an instruction that lets `delegate` move up to `amount` atomic units of a token account."""
    params = models.ApproveParams(
        program_id=TOKEN_PROGRAM_ID, source=account, delegate=delegate, owner=owner, amount=amount
    )
    return token.approve(params)


def close(account: Pubkey, owner: Pubkey, to: Pubkey) -> Instruction:
    """Return an instruction that closes an empty token account; its rent goes to `to`."""
    params = models.CloseAccountParams(program_id=TOKEN_PROGRAM_ID, account=account, dest=to, owner=owner)
    return token.close_account(params)


def amount_in(data: bytes | None) -> int:
    """Return the balance in a token account's data, in atomic units; 0 without an account.

    Raises:
        Inconclusive: It is no token account.
    """
    if data is None:
        return 0
    try:
        return TokenAccount.from_bytes(data).amount
    except (ValueError, TypeError) as fault:
        raise Inconclusive("the Solana node returned a token account whose data cannot be read") from fault


def decimals_in(data: bytes | None) -> int:
    """Return the decimals in a mint's data.

    Raises:
        Inconclusive: There is no such mint.
    """
    try:
        return Mint.from_bytes(data or b"").decimals
    except (ValueError, TypeError) as fault:
        raise Inconclusive("the Solana node knows no such mint") from fault
