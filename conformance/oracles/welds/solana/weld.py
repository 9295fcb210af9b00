"""The weld on Solana: a top-level SPL Token transfer to the payee's associated account that names the reference."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.oracles.challenge_tokens import solana_reference
from conformance.oracles.welds.refusal import (
    AMOUNT,
    ASSET,
    FINALITY,
    KIND,
    OUTCOME,
    RECIPIENT,
    UNSUPPORTED,
    WELD,
    demand,
    of_age,
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
        data, named = instruction.data, instruction.accounts
        if instruction.program != TOKEN_PROGRAM:
            return None
        amount = int.from_bytes(data[1:9], "little")
        if data[:1] == bytes([_TRANSFER]) and len(data) == 9 and len(named) >= 3:
            return cls(None, named[1], named[2], amount, named[3:])
        if data[:1] == bytes([_TRANSFER_CHECKED]) and len(data) == 10 and len(named) >= 4:
            return cls(named[1], named[2], named[3], amount, named[4:])
        return None


def welded(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return payer and id of a payment.

    Args:
        given: `challenge`; `transaction_b64`, with `loaded_addresses` (writable, readonly) where it looks some up;
            `err`, `confirmation` and `block_time` as the node tells them.

    Raises:
        Refused: It does not pay the challenge.
    """
    challenge, loaded = given["challenge"], given["loaded_addresses"]
    raw = base64.b64decode(given["transaction_b64"])
    sent = SignedTransaction.read(raw, (loaded["writable"], loaded["readonly"]))
    demand(given["err"] is None, OUTCOME, "tx_failed", "it ran and failed")
    demand(given["confirmation"] == "finalized", FINALITY, "tx_not_confirmed", "it is not finalized")
    of_age(challenge, given["block_time"])
    destination = associated_account(challenge["pay_to"], challenge["asset"])
    reference = solana_reference(challenge["token"], challenge["service_word"])
    price = int(challenge["amount"])
    rules: tuple[tuple[str, str, Callable[[Transfer], bool]], ...] = (
        (ASSET, "wrong_asset", lambda one: one.mint in {None, challenge["asset"]}),
        (RECIPIENT, "wrong_recipient", lambda one: one.destination == destination),
        (AMOUNT, "wrong_amount", lambda one: one.amount >= price),
        (WELD, "weld_mismatch", lambda one: reference in one.further),
    )
    left = [found for one in sent.instructions if (found := Transfer.of(one))]
    demand(bool(left), KIND, UNSUPPORTED, "it has no top-level transfer of the SPL Token program")
    for stage, code, rule in rules:
        left = [one for one in left if rule(one)]
        demand(bool(left), stage, code, "no transfer in it is left that could pay")
    return {"payer": left[0].owner, "tx_id": sent.tx_id}
