"""The webhook signature header `t=<unix seconds>,v1=<hex>`: read, name its faults, sign, verify.

What v1 covers is the operator's word, a template such as `{t}.{body}`: `{t}` is the decimal time, `{body}` the body's
very bytes. Keys are the UTF-8 bytes of the whole secret text (P-WH-05); a secret in bytes is the key itself.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

V1_CHARACTERS: Final = 64
V2_CHARACTERS: Final = 96
# One spelling of a time: no sign, no leading zero, at most fifteen digits.
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,14}")
_HEX = re.compile(r"[0-9A-Fa-f]+")
_PLACE = re.compile(r"(\{t\}|\{body\})")


class HeaderFault(StrEnum):
    """One way in which a header's value departs from `t=<unix seconds>,v1=<hex>`, in words."""

    NO_T = "it has no t"
    T_TWICE = "it has more than one t"
    T_NOT_DECIMAL = "t is no decimal number of seconds"
    NO_V1 = "it has no v1"
    V1_TWICE = "it has more than one v1"
    V1_NOT_HEX = "v1 is not hexadecimal"
    V1_LENGTH = "v1 is not 64 characters long"
    ORDER = "it does not begin with t and then v1"
    SPACE = "it has white space in it"
    MEMBER = "it has a member without a name or without ="


# What a verifier cannot do without: one time, and a v1 to compare with. The rest is form.
UNUSABLE: Final = frozenset(
    {HeaderFault.NO_T, HeaderFault.T_TWICE, HeaderFault.T_NOT_DECIMAL, HeaderFault.NO_V1, HeaderFault.V1_NOT_HEX}
)


@dataclass(frozen=True, slots=True)
class SignatureHeader:
    """What a signature header says.

    Attributes:
        value: The value as it came.
        t: Unix seconds; None when there is not exactly one decimal `t`.
        v1: Every v1, as it came, in order; a sender that rotates its secret may send two.
        v2: Every v2, as it came, in order (P-WH-06).
        further: All other members with their values, in order; a judge leaves them alone.
        faults: Every departure from the interface's form; members after `t` and `v1` are not departures.
    """

    value: str
    t: int | None
    v1: tuple[str, ...]
    v2: tuple[str, ...]
    further: tuple[tuple[str, str], ...]
    faults: tuple[HeaderFault, ...]

    @property
    def is_usable(self) -> bool:
        """Whether there is one time and a v1 to verify; order, spaces and lengths do not matter for that."""
        return UNUSABLE.isdisjoint(self.faults)


def read(value: str) -> SignatureHeader:
    """Read a header's value; whatever is wrong with it is among the faults, nothing is raised."""
    # Senders may add members and spaces. A reader skips them, and `faults` lists what departs
    # from the interface.
    parts = [part.strip() for part in value.split(",")]
    pairs = [(name.strip(), text.strip()) for name, equals, text in (part.partition("=") for part in parts) if equals]
    times, v1, v2 = (tuple(text for name, text in pairs if name == wanted) for wanted in ("t", "v1", "v2"))
    t = int(times[0]) if len(times) == 1 and _DECIMAL.fullmatch(times[0]) else None
    by_fault = {
        HeaderFault.NO_T: not times,
        HeaderFault.T_TWICE: len(times) > 1,
        HeaderFault.T_NOT_DECIMAL: len(times) == 1 and t is None,
        HeaderFault.NO_V1: not v1,
        HeaderFault.V1_TWICE: len(v1) > 1,
        HeaderFault.V1_NOT_HEX: any(not _HEX.fullmatch(text) for text in v1),
        HeaderFault.V1_LENGTH: any(len(text) != V1_CHARACTERS for text in v1),
        HeaderFault.ORDER: bool(times and v1) and [name for name, _ in pairs[:2]] != ["t", "v1"],
        HeaderFault.SPACE: any(letter.isspace() for letter in value),
        HeaderFault.MEMBER: any("=" not in part or part.startswith("=") for part in parts),
    }
    further = tuple((name, text) for name, text in pairs if name not in {"t", "v1", "v2"})
    return SignatureHeader(value, t, v1, v2, further, tuple(fault for fault, there in by_fault.items() if there))


def covered_bytes(template: str, t: int, body: bytes) -> bytes:
    """Return the bytes that a signature covers: the template filled in, once, from left to right.

    Raises:
        ValueError: The template does not cover the body.
    """
    if "{body}" not in template:
        raise ValueError("a signed string without {body} covers nothing of the event")
    values = {"{t}": str(t).encode(), "{body}": body}
    # The body may itself contain a placeholder such as {t}. Splitting the template first keeps
    # it from being replaced.
    return b"".join(values.get(piece, piece.encode()) for piece in _PLACE.split(template))


def sign(secret: str | bytes, template: str, t: int, body: bytes) -> str:
    """Return v1: HMAC-SHA256 in 64 lower-case hex characters (P-WH-05).

    Raises:
        ValueError: The template does not cover the body.
    """
    key = secret.encode() if isinstance(secret, str) else secret
    return _hmac(hashes.SHA256(), key, covered_bytes(template, t, body))


def header(t: int, v1: str, *further: str) -> str:
    """Return a header's value in the interface's form, with further members such as `v2=…` after it."""
    return ",".join((f"t={t}", f"v1={v1}", *further))


def signed_header(secret: str | bytes, template: str, t: int, body: bytes) -> str:
    """Return the value of the header of one honest delivery.

    Raises:
        ValueError: The template does not cover the body.
    """
    return header(t, sign(secret, template, t, body))


def verify(read_header: SignatureHeader, secrets: Iterable[str | bytes], template: str, body: bytes) -> int | None:
    """Return the place of the first secret that a v1 of the header verifies with, None when none does.

    Hex letters may be of either case. The age of `t` is not looked at: see `is_stale`.

    Raises:
        ValueError: The template does not cover the body.
    """
    if not read_header.is_usable or read_header.t is None:
        return None
    # During a rotation two secrets are valid, and a sender may send one v1 for each.
    for place, secret in enumerate(secrets):
        expected_v1 = sign(secret, template, read_header.t, body)
        if any(_is_equal_hex(expected_v1, given) for given in read_header.v1):
            return place
    return None


def is_stale(t: int, now: float, tolerance: float) -> bool:
    """Return whether `t` is further than `tolerance` seconds away from `now`, to either side (P-WH-13)."""
    # A time in the future is refused too: a replay could otherwise be prepared in advance.
    return abs(now - t) > tolerance


def v2_key(secret: str, service_word: str) -> bytes:
    """Return the 48-byte key of v2: HKDF-SHA256 of the secret, salted with the service's name (P-WH-06)."""
    # The salt separates deployments: one secret gives different keys under different service
    # names.
    salt = f"{service_word.lower()}-webhook-v2-pqc".encode()
    return HKDF(hashes.SHA256(), 48, salt, b"hmac-sha384-outbound").derive(secret.encode())


def sign_v2(secret: str, service_word: str, template: str, t: int, body: bytes) -> str:
    """Return v2: HMAC-SHA384 over what v1 covers, in 96 lower-case hex characters (P-WH-06).

    Raises:
        ValueError: The template does not cover the body.
    """
    return _hmac(hashes.SHA384(), v2_key(secret, service_word), covered_bytes(template, t, body))


def verify_v2(
    read_header: SignatureHeader, secrets: Iterable[str], service_word: str, template: str, body: bytes
) -> int | None:
    """Return the place of the first secret that a v2 of the header verifies with, None when none does.

    Raises:
        ValueError: The template does not cover the body.
    """
    if read_header.t is None:
        return None
    for place, secret in enumerate(secrets):
        expected_v2 = sign_v2(secret, service_word, template, read_header.t, body)
        if any(_is_equal_hex(expected_v2, given) for given in read_header.v2):
            return place
    return None


def _hmac(algorithm: hashes.HashAlgorithm, key: bytes, message: bytes) -> str:
    code = HMAC(key, algorithm)
    code.update(message)
    return code.finalize().hex()


def _is_equal_hex(expected_hex: str, given_hex: str) -> bool:
    # The comparison takes the same time for every wrong value.
    return hmac.compare_digest(expected_hex.encode(), given_hex.lower().encode("utf-8", "replace"))
