"""Base's weld: an EIP-3009 authorization whose nonce is the hash of one live challenge (5.5, P-LN-03, P-LN-10).

A table of rules judges the authorization offline, before any money moves. The settlement is then read from the logs
of the transaction that used the authorization. The rail or a stranger may have sent that transaction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from coincurve import PublicKey
from sha3 import keccak_256

from reference.protocol.canonical_json import JsonValue
from reference.protocol.challenge import Terms
from reference.protocol.observed_transaction import ObservedTransaction, Transfer
from reference.protocol.refusals import AGED, PaymentRefused

# Step 12 demands that the authorization lasts for 30 more seconds, the time that a settlement may take. One that
# lapses on its way costs the rail its fee.
LEAST_SECONDS_LEFT = 30
# Half of the order of secp256k1. The contract accepts only a low s (5.5): of each signature there is a second form
# with a high s.
_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_WORD = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_SIGNATURE = re.compile(r"(?:0x)?[0-9a-fA-F]{130}", re.ASCII)
_DIGITS = re.compile(r"0|[1-9][0-9]{0,77}", re.ASCII)


def keccak(data: bytes) -> bytes:
    """Return keccak-256, straight from the library: each challenge on Base needs one."""
    return keccak_256(data).digest()


def selector(signature: str) -> bytes:
    """Return the four bytes that begin a call of a contract's function, given as `name(type,type)`."""
    return keccak(signature.encode())[:4]


# Characteristic words in the reverts of the USDC contract, in the order of P-LN-08.
_REVERTS = (
    ("exceeds balance", "insufficient_funds"),
    ("used or canceled", "authorization_used"),
    ("is expired", "authorization_expired"),
    ("not yet valid", "authorization_not_yet_valid"),
    ("invalid signature", "invalid_signature"),
)
TRANSFER_SELECTOR = selector(
    "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"
)
_DOMAIN_TYPE = keccak(b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
_TRANSFER_TYPE = keccak(
    b"TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,"
    b"bytes32 nonce)"
)


@dataclass(frozen=True, slots=True)
class Authorization:
    """What a payer signed. Addresses and nonce are `0x` and lower-case hex; times are unix seconds.

    Attributes:
        payer: Member `from`.
        to: Receiver.
        value: Atomic units.
        valid_after: It is valid only in blocks later than that.
        valid_before: It is valid only in blocks earlier than that.
        nonce: 32 bytes.
        signature: The signature's text, as it was presented.
    """

    payer: str
    to: str
    value: int
    valid_after: int
    valid_before: int
    nonce: str
    signature: str

    @classmethod
    def from_members(cls, members: Mapping[str, JsonValue], signature: str) -> Authorization:
        """Return the authorization of a proof; numbers are decimal strings or integers.

        Raises:
            ValueError: A member is missing or is not of its kind.
        """
        return cls(
            payer=_require_form(_ADDRESS, members.get("from")),
            to=_require_form(_ADDRESS, members.get("to")),
            value=_number(members.get("value")),
            valid_after=_number(members.get("validAfter")),
            valid_before=_number(members.get("validBefore")),
            nonce=_require_form(_WORD, members.get("nonce")),
            signature=signature,
        )

    def as_members(self) -> dict[str, JsonValue]:
        """Return the members that `from_members` reads."""
        return {
            "from": self.payer,
            "to": self.to,
            "value": str(self.value),
            "validAfter": str(self.valid_after),
            "validBefore": str(self.valid_before),
            "nonce": self.nonce,
        }

    @property
    def vrs(self) -> tuple[int, bytes, bytes] | None:
        """The signature as (v 27 or 28, r, s), or None when it has another form or a high s."""
        if _SIGNATURE.fullmatch(self.signature) is None:
            return None
        raw = bytes.fromhex(self.signature.removeprefix("0x"))
        # Libraries write the recovery id as 0 or 1 or as 27 or 28. Both are read, because the payer's wallet
        # chooses (5.5).
        v = raw[64] + 27 if raw[64] < 2 else raw[64]
        low = 0 < int.from_bytes(raw[32:64], "big") <= _HALF_ORDER
        return (v, raw[:32], raw[32:64]) if low and v in {27, 28} else None


def _require_form(form: re.Pattern[str], value: JsonValue) -> str:
    if not isinstance(value, str) or form.fullmatch(value) is None:
        raise ValueError("not of the form of an authorization")
    return value.lower()


def _number(value: JsonValue) -> int:
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**256:
        raise ValueError("not a 256-bit number")
    return value


@dataclass(frozen=True, slots=True)
class Domain:
    """EIP-712 domain of an asset (P-NW-03)."""

    name: str
    version: str
    chain_id: int
    contract: str

    @property
    def separator(self) -> bytes:
        """Its hash, computed once for each domain."""
        return _separator(self)


@lru_cache(maxsize=64)
def _separator(domain: Domain) -> bytes:
    members = (keccak(domain.name.encode()), keccak(domain.version.encode()), _word(domain.chain_id))
    return bytes(keccak(_DOMAIN_TYPE + b"".join(members) + _address_word(domain.contract)))


def _word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def _address_word(address: str) -> bytes:
    return bytes.fromhex(address.removeprefix("0x")).rjust(32, b"\0")


def nonce_of(token: str) -> str:
    """Return the nonce that binds an authorization to a challenge: keccak-256 of the token's UTF-8 bytes."""
    # Only a hash fits into the nonce. It also keeps the token itself off the chain.
    return "0x" + keccak(token.encode()).hex()


def digest(domain: Domain, authorization: Authorization) -> bytes:
    """Return the EIP-712 digest that the payer signs."""
    numbers = (authorization.value, authorization.valid_after, authorization.valid_before)
    struct = keccak(
        _TRANSFER_TYPE
        + _address_word(authorization.payer)
        + _address_word(authorization.to)
        + b"".join(map(_word, numbers))
        + bytes.fromhex(authorization.nonce[2:])
    )
    return bytes(keccak(b"\x19\x01" + domain.separator + struct))


def signer(domain: Domain, authorization: Authorization) -> str | None:
    """Return the address whose key signed, or None when the signature is not of an ordinary account's (P-LN-04)."""
    parts = authorization.vrs
    if parts is None:
        return None
    v, r, s = parts
    try:
        key = PublicKey.from_signature_and_message(r + s + bytes([v - 27]), digest(domain, authorization), hasher=None)
    except Exception:  # noqa: BLE001 - the library raises bare Exception for a point off the curve
        return None
    return "0x" + keccak(key.format(compressed=False)[1:])[12:].hex()


@dataclass(frozen=True, slots=True)
class AuthorizationOffer:
    """An authorization with the challenge that it claims to pay, before anything is settled."""

    authorization: Authorization
    terms: Terms
    token: str
    domain: Domain
    now: int


def is_to_payee(offer: AuthorizationOffer) -> bool:
    """It pays the challenge's payee."""
    return offer.authorization.to == offer.terms.pay_to.lower()


def is_exact(offer: AuthorizationOffer) -> bool:
    """It pays exactly the price (P-LN-02)."""
    # On the mined lanes more than the price is accepted, because that money has moved already. Here nothing has
    # moved yet.
    return offer.authorization.value == int(offer.terms.amount)


def nonce_is_bound(offer: AuthorizationOffer) -> bool:
    """Base's weld: the nonce is the token's hash."""
    return offer.authorization.nonce == nonce_of(offer.token)


def has_begun(offer: AuthorizationOffer) -> bool:
    """It is valid already."""
    # The contract compares strictly, and no skew is added: the chain judges these times exactly (5.5).
    return offer.authorization.valid_after < offer.now


def lasts_long_enough(offer: AuthorizationOffer) -> bool:
    """It stays valid for as long as a settlement may take."""
    return offer.authorization.valid_before >= offer.now + LEAST_SECONDS_LEFT


def is_signed(offer: AuthorizationOffer) -> bool:
    """The payer's own key signed it for this asset on this chain."""
    return signer(offer.domain, offer.authorization) == offer.authorization.payer


Rule = Callable[[AuthorizationOffer], bool]

# The signature goes last, because recovering the signer costs more than all other rules together.
OFFLINE: tuple[tuple[Rule, str], ...] = (
    (is_to_payee, "wrong_recipient"),
    (is_exact, "wrong_amount"),
    (nonce_is_bound, "weld_mismatch"),
    (has_begun, "authorization_not_yet_valid"),
    (lasts_long_enough, "authorization_expired"),
    (is_signed, "invalid_signature"),
)


def judge_offline(offer: AuthorizationOffer, *, is_used: bool = False) -> None:
    """Check what can be checked before any money moves (step 12).

    Args:
        offer: The authorization.
        is_used: Whether the chain shows that it was used.

    Raises:
        PaymentRefused: The first rule that does not hold, by its code.
    """
    for holds, code in OFFLINE:
        # The contract has judged the times of an authorization that was used already. Judging them again would
        # refuse money that was settled in time (decision 0067).
        if not (is_used and code in AGED) and not holds(offer):
            raise PaymentRefused(code, network=offer.terms.caip2)


def settling_transfer(transaction: ObservedTransaction, authorization: Authorization, terms: Terms) -> Transfer | None:
    """Return the transfer by which a transaction settled the authorization to the payee, or None (P-LN-03, P-LN-10)."""
    for used in transaction.authorizations_used:
        if not uses(used.asset, used.authorizer, used.nonce, authorization, terms):
            continue
        # Only the log directly after AuthorizationUsed counts. The attack `base-self-authorization` uses the nonce
        # to pay the payer himself, next to an unrelated Transfer of the price to the payee.
        # `base-batched-authorizations` uses several nonces with one Transfer (P-LN-10).
        for transfer in transaction.transfers:
            if follows(transfer.ordinal, used.ordinal) and pays(transfer, authorization, terms):
                return transfer
    return None


def uses(asset: str, authorizer: str, nonce: str, authorization: Authorization, terms: Terms) -> bool:
    """Whether an AuthorizationUsed log is the asset's own, for this payer and nonce."""
    return (asset, authorizer, nonce) == (terms.asset.lower(), authorization.payer, authorization.nonce)


def follows(transfer_ordinal: int, used_ordinal: int) -> bool:
    """Whether a Transfer is the log directly after the use of an authorization."""
    return transfer_ordinal == used_ordinal + 1


def pays(transfer: Transfer, authorization: Authorization, terms: Terms) -> bool:
    """Whether a Transfer moves the price of this asset from the payer to the payee."""
    expected_fields = (terms.asset.lower(), authorization.payer, terms.pay_to.lower(), int(terms.amount))
    return (transfer.asset, transfer.sender, transfer.receiver, transfer.value) == expected_fields


def refusal_code(revert: str) -> str:
    """Return the refusal code for the text of the asset contract's revert."""
    return next((code for part, code in _REVERTS if part in revert), "settlement_failed")
