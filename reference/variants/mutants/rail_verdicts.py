"""Mutants of what the rail's sold verdicts rest on, at one door or in one thing; and of who may keep its answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from reference.protocol import eip3009, jws, message_signatures, receipt_verification, screening
from reference.protocol.canonical_json import parse_canonical
from reference.protocol.keys import public_key_from_did_key, raw_key_of_jwk
from reference.protocol.message_signatures import content_digest, verdict
from reference.protocol.message_signatures.algorithms import ExpectedKey
from reference.protocol.message_signatures.content_digest import DigestReport
from reference.protocol.message_signatures.signature_input import SignatureInput
from reference.rail import paid_endpoint
from reference.rail.conversation import Conversation
from reference.rail.orders import Order
from reference.rail.paid_endpoint import PaidEndpoint
from reference.rail.redemption import Served
from reference.rail.services import Service
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web.exchange import Reply

_PUBLIC = "public, max-age=60"
Verify = Callable[..., dict[str, Any]]


def _receipts(change: Callable[[Verify], Verify]) -> Callable[[], None]:
    """Return what changes how the rail verifies receipts; the gateway is another process."""
    return lambda: replace(receipt_verification, "verify_receipt", change)


def _unsigned(verify: Verify) -> Verify:
    """A receipt whose header says alg none needs no signature."""

    def judged(**asked: Any) -> dict[str, Any]:
        report = verify(**asked)
        return {**report, "verified": True, "error_code": None} if report["alg"] == "none" else report

    return judged


def _without(name: str, verify: Verify) -> Verify:
    """A member of the request is not looked at."""
    return lambda **asked: verify(**{**asked, name: None})


def _key_of_the_header(verify: Verify) -> Verify:
    """A key in the header counts as one of the rail's."""

    def judged(**asked: Any) -> dict[str, Any]:
        try:
            header = parse_canonical(jws.decode_segment(str(asked["jws"]).partition(".")[0]))
            raw_key_of_jwk(header["jwk"])  # type: ignore[call-overload, index, arg-type]
        except (ValueError, TypeError, KeyError):
            return verify(**asked)
        return verify(**{**asked, "jwks": {"keys": [header["jwk"]]}})  # type: ignore[call-overload, index]

    return judged


def _keyid_trusted() -> None:
    """A did:key in keyid is the key that verifies, whatever key is expected."""

    def trusting(decide: Callable[..., None]) -> Callable[..., None]:
        def decided(expected: ExpectedKey, chosen: SignatureInput, built: Any, judged: Any) -> None:
            named = str(chosen.parameters.get("keyid", ""))
            if named.startswith("did:key:z6Mk"):
                expected = ExpectedKey("ed25519", public_key_from_did_key(named).raw)
            decide(expected, chosen, built, judged)

        return decided

    replace(verdict, "_decide", trusting)


def _content_unread() -> None:
    """A Content-Digest is not compared with the content."""

    def blind(judge: Callable[..., DigestReport]) -> Callable[..., DigestReport]:
        def judged(*args: Any, **kwargs: Any) -> DigestReport:
            return judge(*args, **kwargs)._replace(faults=())

        return judged

    replace(content_digest, "judge", blind)


def _forgives(*codes: str) -> Callable[[], None]:
    """Return what takes a message for valid whose only faults are these."""

    def forgiving(verify: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        def judged(*args: Any, **kwargs: Any) -> dict[str, Any]:
            result = verify(*args, **kwargs)
            return {**result, "valid": True} if {*result["error_codes"]} <= {*codes} else result

        return judged

    return lambda: replace(message_signatures, "verify", forgiving)


class _TrustingDoor:
    """The door as the A2A conversation sees it: what it sells finds everything sound; REST keeps its own."""

    def __init__(self, door: PaidEndpoint) -> None:
        self._clean = door

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clean, name)

    async def redeem(self, service: Service, proofs: Sequence[str], order: Callable[[], Order]) -> Served:
        """Redeem with a service that says so."""

        def reported(*args: Any) -> dict[str, Any]:
            result = service.run(*args)
            return {**result, **{name: True for name in ("verified", "valid") if name in result}}

        return await self._clean.redeem(dataclasses.replace(service, run=reported), proofs, order)


def _a2a_trusts() -> None:
    def opened(init: Callable[..., None]) -> Callable[..., None]:
        def other(self: Conversation, door: PaidEndpoint, *args: Any, **kwargs: Any) -> None:
            init(self, _TrustingDoor(door), *args, **kwargs)

        return other

    replace(Conversation, "__init__", opened)


def _screened_by_letters() -> None:
    """An address is looked up as it is spelled."""
    replace(screening, "same_address", lambda _: lambda network, one, other: one == other)  # noqa: ARG005 - the rule's shape


def _stored_is_public() -> None:
    """Only the stored answer is given leave: the first one is private."""

    def public(paid: Callable[[Served], Reply]) -> Callable[[Served], Reply]:
        def answered(served: Served) -> Reply:
            reply = paid(served)
            cached = {**reply.headers, "Cache-Control": _PUBLIC} if served.replayed else reply.headers
            return Reply(reply.status, reply.body, cached)

        return answered

    replace(paid_endpoint, "_paid", public)


def _refusal_is_public() -> None:
    """Only the 402 that refuses a proof is given leave: the one that asks for a payment is not stored."""

    def public(refused: Callable[..., Reply]) -> Callable[..., Reply]:
        def answered(self: PaidEndpoint, request: Any, offered: Any, refusal: Any) -> Reply:
            reply = refused(self, request, offered, refusal)
            if refusal.code == "payment_required":
                return reply
            return Reply(reply.status, reply.body, {**reply.headers, "Cache-Control": _PUBLIC})

        return answered

    replace(PaidEndpoint, "_payment_required", public)


def _texts_only() -> None:
    """Numbers of an authorization that are JSON integers are refused."""

    def strict(number: Callable[[Any], int]) -> Callable[[Any], int]:
        def read(value: Any) -> int:
            if not isinstance(value, str):
                raise ValueError("not a decimal string")  # noqa: TRY004 - as the clean rule says it
            return number(value)

        return read

    replace(eip3009, "_number", strict)


def _payee_by_letters() -> None:
    """Hexadecimal of an authorization whose letters are all small or all large is refused where it has both kinds."""

    def strict(matching: Callable[..., str]) -> Callable[..., str]:
        def matched(form: Any, value: Any) -> str:
            text = matching(form, value)
            if form is eip3009._ADDRESS and value[2:] in {text[2:], text[2:].upper()} and not text[2:].isdecimal():  # noqa: SLF001 - the seam
                raise ValueError("not spelled with its checksum")
            return text

        return matched

    replace(eip3009, "_matching", strict)


MUTANTS = (
    Mutant("sold-receipt-unsigned", "alg is EdDSA, so that none fails (2.4, step 3)", _receipts(_unsigned)),
    Mutant(
        "sold-receipt-keys-ignored",
        "with a key set only its keys count (P-RV-01)",
        _receipts(partial(_without, "jwks")),
    ),
    Mutant(
        "sold-receipt-key-in-header",
        "a key in the header is ignored (P-RV-03)",
        _receipts(_key_of_the_header),
    ),
    Mutant(
        "sold-receipt-any-payment",
        "the expected payment is compared (2.4, step 9)",
        _receipts(partial(_without, "expected_payment_hash")),
    ),
    Mutant("sold-message-keyid-trusted", "keyid never overrides the expected key (P-AG-04)", _keyid_trusted),
    Mutant("sold-message-content-unread", "the digest is that of the content (P-AG-06)", _content_unread),
    Mutant("sold-message-any-alg", "alg is that of the key (P-AG-04)", _forgives("alg_not_allowed")),
    Mutant("sold-message-for-ever", "an expired signature is invalid (P-AG-05)", _forgives("expired")),
    Mutant("a2a-verifies-nothing", "what is sold verifies, at either door (5.2, P-RA-05)", _a2a_trusts),
    Mutant("sold-screening-by-letters", "EVM addresses are compared by bytes (P-NW-04)", _screened_by_letters),
    Mutant("stored-answer-cached", "a paid answer is private, the stored one too (5.9)", _stored_is_public),
    Mutant("refusal-cached", "a 402 is not stored, nor one that refuses (P-CH-09)", _refusal_is_public),
    Mutant("base-texts-only", "numbers are decimal strings or integers (5.5, Base)", _texts_only),
    Mutant("base-checksums-only", "addresses are compared by their bytes (P-NW-04)", _payee_by_letters),
)
