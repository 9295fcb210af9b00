"""The weld on Solana: a top-level SPL Token transfer to the payee's associated account that names the reference."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.oracles.challenge_tokens import solana_reference
from conformance.oracles.welds.refusal_stages import (
    AMOUNT,
    ASSET,
    FINALITY,
    KIND,
    OUTCOME,
    RECIPIENT,
    UNSUPPORTED_CODE,
    WELD,
    demand,
    demand_age,
)
from conformance.oracles.welds.solana.accounts import TOKEN_PROGRAM, associated_account
from conformance.oracles.welds.solana.transaction import Instruction, SignedTransaction

_TRANSFER: Final = 3
_TRANSFER_CHECKED: Final = 12


@dataclass(frozen=True, slots=True)
class Transfer:
    """One Transfer or TransferChecked; the first names no mint, so that `mint` has the value None."""

    mint: str | None
    destination: str
    owner: str
    amount: int
    further: tuple[str, ...]

    @classmethod
    def of(cls, instruction: Instruction) -> Transfer | None:
        """Return the transfer that an instruction of the SPL Token program is; None for any other instruction."""
        data, accounts = instruction.data, instruction.accounts
        if instruction.program != TOKEN_PROGRAM:
            return None
        amount = int.from_bytes(data[1:9], "little")
        if data[:1] == bytes([_TRANSFER]) and len(data) == 9 and len(accounts) >= 3:
            return cls(None, accounts[1], accounts[2], amount, accounts[3:])
        if data[:1] == bytes([_TRANSFER_CHECKED]) and len(data) == 10 and len(accounts) >= 4:
            return cls(accounts[1], accounts[2], accounts[3], amount, accounts[4:])
        return None


def judge_payment(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return payer and id of a payment.

    Args:
        evidence: `challenge`; `transaction_b64`, with `loaded_addresses` (writable, readonly) where it looks some up;
            `err`, `confirmation` and `block_time` as the node reports them.

    Raises:
        PaymentRefusal: It does not pay the challenge.
    """
    challenge, loaded_addresses = evidence["challenge"], evidence["loaded_addresses"]
    raw = base64.b64decode(evidence["transaction_b64"])
    transaction = SignedTransaction.read(raw, (loaded_addresses["writable"], loaded_addresses["readonly"]))
    demand(evidence["err"] is None, OUTCOME, "tx_failed", "it ran and failed")
    demand(evidence["confirmation"] == "finalized", FINALITY, "tx_not_confirmed", "it is not finalized")
    demand_age(challenge, evidence["block_time"])
    destination = associated_account(challenge["pay_to"], challenge["asset"])
    reference = solana_reference(challenge["token"], challenge["service_word"])
    price = int(challenge["amount"])
    rules: tuple[tuple[str, str, Callable[[Transfer], bool]], ...] = (
        (ASSET, "wrong_asset", lambda one: one.mint in {None, challenge["asset"]}),
        (RECIPIENT, "wrong_recipient", lambda one: one.destination == destination),
        (AMOUNT, "wrong_amount", lambda one: one.amount >= price),
        (WELD, "weld_mismatch", lambda one: reference in one.further),
    )
    transfers = [found for one in transaction.instructions if (found := Transfer.of(one))]
    demand(bool(transfers), KIND, UNSUPPORTED_CODE, "it has no top-level transfer of the SPL Token program")
    # A transaction may contain several transfers. The stages narrow them down, so that the code
    # names the first rule that none of the remaining ones keeps.
    for stage, code, rule in rules:
        transfers = [one for one in transfers if rule(one)]
        demand(bool(transfers), stage, code, "no transfer in it is left that could pay")
    return {"payer": transfers[0].owner, "tx_id": transaction.tx_id}
