"""Signed Ethereum transactions: read, checked and made (EIP-155, EIP-2718, EIP-2930, EIP-1559, EIP-2 low s)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import rlp
from coincurve import PrivateKey, PublicKey
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
LEGACY, ACCESS_LIST, DYNAMIC_FEE = 0, 1, 2
_FIELDS = {LEGACY: 9, ACCESS_LIST: 11, DYNAMIC_FEE: 12}


class Malformed(Exception):
    """Bytes that are no transaction this chain knows; the text is the node's."""


def address_of(public: PublicKey) -> str:
    """Return the checksummed address of a public key."""
    return str(to_checksum_address(keccak(public.format(compressed=False)[1:])[12:]))


@dataclass(frozen=True)
class Signed:
    """One signed transaction.

    Attributes:
        kind: 0 legacy, 1 with an access list, 2 with a dynamic fee.
        chain_id: EIP-155 chain id; None for a legacy transaction without one.
        nonce: Sender's transaction count.
        max_fee: Most wei a unit of gas may cost.
        max_tip: Most wei of it that goes to the block's producer.
        gas: Gas limit.
        to: Receiver, checksummed; None creates a contract.
        value: Wei.
        data: Call data or creation code.
        access_list: Addresses and slots, as sent.
        parity: Parity of the signature's point, 0 or 1.
        r: First half of the signature.
        s: Second half.
        sender: Who signed, checksummed.
        raw: The bytes as sent.
    """

    kind: int
    chain_id: int | None
    nonce: int
    max_fee: int
    max_tip: int
    gas: int
    to: str | None
    value: int
    data: bytes
    access_list: tuple[tuple[str, tuple[str, ...]], ...]
    parity: int
    r: int
    s: int
    sender: str
    raw: bytes

    @cached_property
    def hash(self) -> bytes:
        """Transaction hash."""
        return bytes(keccak(self.raw))

    @property
    def access_gas(self) -> int:
        """What of it the access list costs (EIP-2930)."""
        return sum(2_400 + 1_900 * len(slots) for _, slots in self.access_list)

    @property
    def intrinsic_gas(self) -> int:
        """Gas that is used before any code runs (EIP-2028, EIP-2930, EIP-3860)."""
        used = 21_000 + sum(16 if byte else 4 for byte in self.data)
        used += self.access_gas
        return used if self.to is not None else used + 32_000 + 2 * ((len(self.data) + 31) // 32)


def decode(raw: bytes) -> Signed:
    """Return the transaction in `raw`, its sender recovered from its signature.

    Raises:
        Malformed: It is not a transaction, or its signature is malformed.
    """
    kind, body = (raw[0], raw[1:]) if raw and raw[0] < 0x80 else (LEGACY, raw)
    if kind not in _FIELDS or (kind == LEGACY and raw[:1] == b"\0"):
        raise Malformed("transaction type not supported")
    try:
        fields = rlp.decode(body)
    except rlp.exceptions.RLPException as fault:
        raise Malformed(f"failed to decode signed transaction: rlp: {fault}") from fault
    except RecursionError as fault:
        raise Malformed("failed to decode signed transaction: rlp: lists are nested too deeply") from fault
    if not isinstance(fields, list) or len(fields) != _FIELDS[kind]:
        raise Malformed("failed to decode signed transaction: rlp: wrong number of fields")
    return _legacy(fields, raw) if kind == LEGACY else _decode_typed(kind, fields, raw)


def _number(field: Any) -> int:
    if not isinstance(field, bytes) or field[:1] == b"\0" or len(field) > 32:
        raise Malformed("failed to decode signed transaction: rlp: not a canonical integer")
    return int.from_bytes(field, "big")


def _to(field: Any) -> str | None:
    if field == b"":
        return None
    if not isinstance(field, bytes) or len(field) != 20:
        raise Malformed("failed to decode signed transaction: rlp: wrong length of address")
    return str(to_checksum_address(field))


def _legacy(fields: list[Any], raw: bytes) -> Signed:
    nonce, price, gas, to, value, data, v, r, s = fields
    mark = _number(v)
    chain_id = (mark - 35) // 2 if mark >= 35 else None
    parity = (mark - 35) % 2 if mark >= 35 else mark - 27
    signing_fields = fields[:6] if chain_id is None else [*fields[:6], _bytes(chain_id), b"", b""]
    sender = _sender(keccak(rlp.encode(signing_fields)), parity, _number(r), _number(s))
    return Signed(
        kind=LEGACY,
        chain_id=chain_id,
        nonce=_number(nonce),
        max_fee=_number(price),
        max_tip=_number(price),
        gas=_number(gas),
        to=_to(to),
        value=_number(value),
        data=_data(data),
        access_list=(),
        parity=parity,
        r=_number(r),
        s=_number(s),
        sender=sender,
        raw=raw,
    )


def _decode_typed(kind: int, fields: list[Any], raw: bytes) -> Signed:
    chain_id, nonce, *fees, gas, to, value, data, accesses, parity, r, s = fields
    digest = keccak(bytes([kind]) + rlp.encode(fields[:-3]))
    sender = _sender(digest, _number(parity), _number(r), _number(s))
    return Signed(
        kind=kind,
        chain_id=_number(chain_id),
        nonce=_number(nonce),
        max_fee=_number(fees[-1]),
        max_tip=_number(fees[0]),
        gas=_number(gas),
        to=_to(to),
        value=_number(value),
        data=_data(data),
        access_list=_access_list(accesses),
        parity=_number(parity),
        r=_number(r),
        s=_number(s),
        sender=sender,
        raw=raw,
    )


def _data(field: Any) -> bytes:
    if not isinstance(field, bytes):
        raise Malformed("failed to decode signed transaction: rlp: data is a list")
    return field


def _access_list(field: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(field, list) or not all(_is_access(one) for one in field):
        raise Malformed("failed to decode signed transaction: rlp: access list")
    return tuple((str(to_checksum_address(one)), tuple("0x" + slot.hex() for slot in slots)) for one, slots in field)


def _is_access(item: Any) -> bool:
    return (
        isinstance(item, list)
        and len(item) == 2
        and isinstance(item[0], bytes)
        and len(item[0]) == 20
        and isinstance(item[1], list)
        and all(isinstance(slot, bytes) and len(slot) == 32 for slot in item[1])
    )


def _sender(digest: bytes, parity: int, r: int, s: int) -> str:
    if parity not in {0, 1} or not 0 < s <= HALF_ORDER or not 0 < r < 2**256:
        raise Malformed("invalid transaction v, r, s values")
    signature = r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([parity])
    try:
        return address_of(PublicKey.from_signature_and_message(signature, digest, hasher=None))
    except Exception as fault:
        raise Malformed("invalid transaction v, r, s values") from fault


def _bytes(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def sign(  # one parameter a field of EIP-1559
    key: PrivateKey,
    *,
    chain_id: int,
    nonce: int,
    max_fee: int,
    max_tip: int,
    gas: int,
    to: str | None,
    value: int = 0,
    data: bytes = b"",
) -> bytes:
    """Return the bytes of a signed transaction with a dynamic fee."""
    receiver = b"" if to is None else bytes.fromhex(to[2:])
    numbers = [_bytes(one) for one in (chain_id, nonce, max_tip, max_fee, gas)]
    fields: list[Any] = [*numbers, receiver, _bytes(value), data, []]
    signature = key.sign_recoverable(keccak(b"\x02" + rlp.encode(fields)), hasher=None)
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big")
    return b"\x02" + bytes(rlp.encode([*fields, _bytes(signature[64]), _bytes(r), _bytes(s)]))
