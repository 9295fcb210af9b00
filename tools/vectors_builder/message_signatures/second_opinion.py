"""Two libraries that share no code with the suite's judge, asked about the same messages.

`http-message-signatures` (from the extra `dev`) judges whole messages where it has a rule at all; PyCryptodome checks
the equation of every signature base that could be made.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from Crypto.Hash import HMAC, SHA256, SHA384, SHA512
from Crypto.PublicKey import ECC, RSA
from Crypto.Signature import DSS, eddsa, pkcs1_15, pss
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from conformance.oracles.message_signatures import verify_request_members as reader
from conformance.oracles.message_signatures.message import Message


@dataclass(frozen=True, slots=True)
class _Fields:
    """Header fields as `http-message-signatures` wants them: pairs in order."""

    pairs: tuple[tuple[str, str], ...]

    def items(self) -> Iterable[tuple[str, str]]:
        return self.pairs

    def __iter__(self) -> Any:
        return iter(dict.fromkeys(name for name, _ in self.pairs))

    def __contains__(self, name: str) -> bool:
        return any(given.lower() == name.lower() for given, _ in self.pairs)


class _Request:
    def __init__(self, message: Message) -> None:
        self.method = message.method
        self.url = f"{message.scheme}://{message.authority}{message.target}"
        self.headers = _Fields(message.headers)


class _Response:
    def __init__(self, message: Message) -> None:
        self.status_code = message.status
        self.headers = _Fields(message.headers)
        self.request = None if message.request is None else _Request(message.request)


def whole_message(message: Mapping[str, Any], key: Mapping[str, str], policy: Mapping[str, Any]) -> bool | None:
    """Return what `http-message-signatures` says of a message; None where it has no say.

    It has none of times that are not today's, of trailers, of lists of algorithms, and of signatures without keyid.
    """
    from http_message_signatures import HTTPMessageVerifier, algorithms  # noqa: PLC0415 - of the extra `dev`
    from http_message_signatures.exceptions import HTTPMessageSignaturesException  # noqa: PLC0415

    read = reader.message_of(message)
    if read.trailers or {"now", "max_age_seconds"} & set(policy) or not _speaks_of(read):
        return None
    if policy.get("allowed_algorithms", [key["algorithm"]]) != [key["algorithm"]]:
        return None
    classes = {one.algorithm_id: one for one in vars(algorithms).values() if hasattr(one, "algorithm_id")}

    class Verifier(HTTPMessageVerifier):
        require_created = False
        allow_label_only_selection = True

    verifier = Verifier(signature_algorithm=classes[key["algorithm"]], key_resolver=_resolver(_material(key)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a label is not signed, which is so
            verifier.verify(
                _Response(read) if read.is_response else _Request(read),
                max_age=None,
                expect_tag=policy.get("expected_tag"),
                expect_label=policy.get("label"),
                require_components=policy.get("required_components", ()),
                body=read.body if policy.get("require_content_digest", True) else None,
            )
    except (HTTPMessageSignaturesException, ValueError, UnicodeError):
        return False
    return True


def _speaks_of(message: Message) -> bool:
    return "keyid" in (message.field("signature-input") or "keyid")


def _resolver(material: Any) -> Any:
    from http_message_signatures import HTTPSignatureKeyResolver  # noqa: PLC0415 - of the extra `dev`

    class Resolver(HTTPSignatureKeyResolver):
        def resolve_public_key(self, key_id: str) -> Any:  # noqa: ARG002 - the caller's key counts, not the named one
            return material

    return Resolver()


def _material(key: Mapping[str, str]) -> Any:
    expected_key = reader.key_of(key)
    if expected_key is None:
        raise ValueError("a vector without a key")
    return expected_key.material if key["algorithm"] != "ed25519" else Ed25519PublicKey.from_public_bytes(_octets(key))


def equation(key: Mapping[str, str], signature: bytes, base: str) -> bool:
    """Return whether PyCryptodome finds a signature over a base to hold."""
    try:
        return _EQUATIONS[key["algorithm"]](key, signature, base.encode("ascii"))
    except ValueError:
        return False


def _ed25519(key: Mapping[str, str], signature: bytes, base: bytes) -> bool:
    eddsa.new(eddsa.import_public_key(_octets(key)), "rfc8032").verify(base, signature)
    return True


def _ecdsa(digest: Any) -> Callable[[Mapping[str, str], bytes, bytes], bool]:
    def verify(key: Mapping[str, str], signature: bytes, base: bytes) -> bool:
        public = ECC.import_key(key["public_key_pem"])
        DSS.new(public, "fips-186-3", encoding="binary").verify(digest.new(base), signature)
        return True

    return verify


def _rsa_pss(key: Mapping[str, str], signature: bytes, base: bytes) -> bool:
    pss.new(RSA.import_key(key["public_key_pem"]), salt_bytes=64).verify(SHA512.new(base), signature)
    return True


def _rsa_v1_5(key: Mapping[str, str], signature: bytes, base: bytes) -> bool:
    pkcs1_15.new(RSA.import_key(key["public_key_pem"])).verify(SHA256.new(base), signature)
    return True


def _hmac(key: Mapping[str, str], signature: bytes, base: bytes) -> bool:
    HMAC.new(_octets(key), base, SHA256).verify(signature)
    return True


def _octets(key: Mapping[str, str]) -> bytes:
    expected_key = reader.key_of(key)
    if expected_key is None or not isinstance(expected_key.material, bytes):
        raise ValueError("a vector without a key of bytes")
    return expected_key.material


_EQUATIONS: Final[dict[str, Callable[[Mapping[str, str], bytes, bytes], bool]]] = {
    "ed25519": _ed25519,
    "ecdsa-p256-sha256": _ecdsa(SHA256),
    "ecdsa-p384-sha384": _ecdsa(SHA384),
    "rsa-pss-sha512": _rsa_pss,
    "rsa-v1_5-sha256": _rsa_v1_5,
    "hmac-sha256": _hmac,
}
