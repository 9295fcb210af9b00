"""Mutants of receipt verification at the gateway that take what is only alike for what it should be (2.4).

Each compares in another way than letter by letter: without case, by how a text begins or ends, or without what stands
around it; or leaves out the last of what is asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reference.protocol import canonical_json, jws, receipt_kinds
from reference.protocol import receipt_verification as verification
from reference.protocol.receipt_kinds import HASH_MEMBERS, SCREEN_RESULTS, SETTLEMENT_RESULTS, ReceiptKind
from reference.protocol.receipts import CANON_VERSION
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace

# Whether what was sent (first) counts as what it should be (second).
Alike = Callable[[str, str], bool]
Judge = Callable[[verification.Case], None]
_TRUE_NAMES = verification.ALGORITHMS
_LETTERS = 8


def _folded(sent: str, wanted: str) -> bool:
    return sent.casefold() == wanted.casefold()


def _trimmed(sent: str, wanted: str) -> bool:
    return sent.strip() == wanted.strip()


def _begun(sent: str, wanted: str) -> bool:
    return sent.startswith(wanted)


class _Names(tuple[str, ...]):
    """Names that hold what is like one of them, too."""

    alike: Alike

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(type(self).alike(name, one) for one in self)


def _algorithms(alike: Alike, names: Sequence[str] = _TRUE_NAMES) -> Callable[[], None]:
    """Return what takes names of the algorithm that are alike."""
    held = type("Names", (_Names,), {"alike": staticmethod(alike)})
    return lambda: setattr(verification, "ALGORITHMS", held(names))


Select = Callable[..., Mapping[str, object]]


def _kids(alike: Alike) -> Callable[[], None]:
    """Return what chooses the first key of a kid that is alike."""

    def lenient(select: Select) -> Select:
        def chosen(given: Sequence[Mapping[str, object]], kid: str | None) -> Mapping[str, object]:
            held = ((key, key.get("kid")) for key in given)
            like = (
                key for key, one in held if kid is not None and isinstance(one, str) and one != kid and alike(one, kid)
            )
            return next(like, None) or select(given, kid)

        return chosen

    return lambda: replace(verification, "select_key", lenient)


def _fragment(held: str, kid: str) -> bool:
    """The fragment of a DID URL stands for the whole."""
    return held.rpartition("#")[2] == kid


def _bare_key(keys: Callable[..., Any]) -> Callable[..., Any]:
    """A key counts as a set of one."""
    return lambda jwks: keys({"keys": [jwks]} if isinstance(jwks, dict) and "kty" in jwks else jwks)


def _other_alphabet(decode: Callable[[str], bytes]) -> Callable[[str], bytes]:
    return lambda text: decode(text.replace("+", "-").replace("/", "_"))


def _passes(code: str, alike: Callable[[verification.Case], bool]) -> Callable[[], None]:
    """Return what lets pass at one step what is alike."""

    def lenient(judge: Judge) -> Judge:
        return lambda case: None if alike(case) else judge(case)

    def apply() -> None:
        steps = (one._replace(judge=lenient(one.judge)) if one.code == code else one for one in verification.STEPS)
        verification.STEPS = tuple(steps)

    return apply


def _last_member_free() -> None:
    less = {kind: members[:-1] for kind, members in receipt_kinds.REQUIRED_MEMBERS.items()}
    setattr(receipt_kinds, "REQUIRED_MEMBERS", less)  # noqa: B010 - a rule that is dropped


def _sets(changed: Mapping[ReceiptKind, Callable[[str, str], bool]]) -> Callable[[], None]:
    """Return what gives members of some kinds another set of values: by the member's name and its value."""

    def apply() -> None:
        for kind, holds in changed.items():
            rules = tuple((member, _held(holds, member)) for member, _ in receipt_kinds._SETS[kind])  # noqa: SLF001
            setattr(receipt_kinds, "_SETS", {**receipt_kinds._SETS, kind: rules})  # noqa: B010, SLF001

    return apply


def _held(holds: Callable[[str, str], bool], member: str) -> Callable[[str], object]:
    return lambda value: holds(member, value)


def _results(alike: Alike) -> Callable[[], None]:
    """Return what takes results that are like one of the set."""
    return _sets(
        {
            "compliance": lambda _, value: any(alike(value, one) for one in SCREEN_RESULTS),
            "settlement_attestation": lambda _, value: any(alike(value, one) for one in SETTLEMENT_RESULTS),
        }
    )


def _references(pattern: str) -> Callable[[], None]:
    """Return what takes hash references of another form."""
    form = re.compile(pattern)
    return _sets({"payable": lambda member, value: member in HASH_MEMBERS and form.match(value) is not None})


def _payments(alike: Alike) -> Callable[[], None]:
    """Return what takes a payment that is like the expected one: what is expected first, then the receipt's."""

    def holds(case: verification.Case) -> bool:
        held = case.payload.get(receipt_kinds.payment_hash_member(receipt_kinds.kind_of(case.payload)))
        expected = case.expected_payment_hash
        return isinstance(held, str) and expected is not None and alike(expected, held)

    return _passes("PAYMENT_HASH_MISMATCH", holds)


def _version_folded(case: verification.Case) -> bool:
    version = case.payload.get("canon_version")
    return isinstance(version, str) and _folded(version, CANON_VERSION)


def _in_order_of_bytes(case: verification.Case) -> bool:
    """Members in the order of their UTF-8 bytes are in order."""
    names = [*case.payload]
    return not case.has_duplicates and names == sorted(names, key=str.encode)


def _without_floor(_: Callable[..., bool]) -> Callable[..., bool]:
    """Values are followed down to their last level, by a call for each."""

    def holds(value: Any, depth: int) -> bool:
        children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return type(value) is not float and all(holds(child, depth) for child in children)

    return holds


def _as_python_writes(case: verification.Case) -> bool:
    """The text is sorted and compact as Python writes it: with fractions of nought, and integers of any length."""
    text = json.dumps(case.payload, sort_keys=True, separators=(",", ":"))
    return not case.has_duplicates and text.encode() == case.payload_bytes


MUTANTS: tuple[Mutant, ...] = tuple(
    Mutant(f"receipts-{id_}", rule, apply, "gateway")
    for id_, rule, apply in (
        ("alg-folded", "names of algorithms have one spelling (RFC 7515 4.1.1)", _algorithms(_folded)),
        ("alg-trimmed", "nothing stands around an algorithm's name (RFC 7515 4.1.1)", _algorithms(_trimmed)),
        ("alg-begun", "an algorithm's name is its whole name (2.4 step 3)", _algorithms(_begun, ("Ed",))),
        ("kid-folded", "a kid's letters have their case (RFC 7517 4.5, P-RV-01)", _kids(_folded)),
        ("kid-begun", "a kid is equal, not longer (P-RV-01)", _kids(_begun)),
        ("kid-cut", "a kid is equal, not shorter (P-RV-01)", _kids(lambda held, kid: kid.startswith(held))),
        ("kid-fragment", "a kid is equal, not the fragment of a URL (P-RV-01)", _kids(_fragment)),
        (
            "kid-first-letters",
            "a kid is equal to its last letter (P-RV-01)",
            _kids(lambda held, kid: held[:_LETTERS] == kid[:_LETTERS]),
        ),
        (
            "kid-last-letters",
            "a kid is equal from its first letter (P-RV-01)",
            _kids(lambda held, kid: held[-_LETTERS:] == kid[-_LETTERS:]),
        ),
        ("kid-trimmed", "a kid is equal with its spaces (P-RV-01)", _kids(_trimmed)),
        (
            "bare-key",
            "a key set has its keys in `keys` (RFC 7517 5, 2.4 step 2)",
            lambda: replace(verification, "supplied_keys", _bare_key),
        ),
        (
            "plain-base64",
            "segments are in the alphabet of base64url (RFC 7515 2, 2.4 step 2)",
            lambda: replace(jws, "decode_segment", _other_alphabet),
        ),
        (
            "canon-folded",
            "canon_version has one spelling (2.4 step 6)",
            _passes("UNSUPPORTED_CANON_VERSION", _version_folded),
        ),
        ("last-member", "every required member is there (2.4 step 8)", _last_member_free),
        (
            "result-first",
            "each result of the set is one (2.3, 2.4 step 8b)",
            _sets({"compliance": lambda _, value: value == SCREEN_RESULTS[0]}),
        ),
        (
            "settlement-last",
            "a settlement that is final is one (2.3, 2.4 step 8b)",
            _sets({"settlement_attestation": lambda _, value: value in SETTLEMENT_RESULTS[1:]}),
        ),
        ("result-folded", "results have one spelling (2.4 step 8b)", _results(_folded)),
        ("result-begun", "a result is the whole word (2.4 step 8b)", _results(_begun)),
        (
            "settlement-any",
            "a settlement's result is one of three (2.4 step 8b)",
            _sets({"settlement_attestation": lambda _, __: True}),
        ),
        (
            "reference-folded",
            "a hash reference is in lower case (P-CV-06, 2.4 step 8b)",
            _references(r"(?i:sha256:[0-9a-f]{64})\Z"),
        ),
        ("reference-begun", "a hash reference has 64 digits (2.4 step 8b)", _references("sha256:")),
        (
            "reference-line-end",
            "nothing stands behind a hash reference (2.4 step 8b)",
            _references("sha256:[0-9a-f]{64}$"),
        ),
        ("payment-folded", "the expected payment is compared as text (P-GR-01)", _payments(_folded)),
        (
            "payment-begun",
            "the expected payment is the whole text (P-GR-01)",
            _payments(lambda expected, held: expected != "" and held.startswith(expected)),
        ),
        (
            "payment-no-scheme",
            "the expected payment has its scheme (P-GR-01)",
            _payments(lambda expected, held: expected == held.removeprefix("sha256:")),
        ),
        ("payment-trimmed", "nothing stands around the expected payment (P-GR-01)", _payments(_trimmed)),
        (
            "payment-empty",
            "an empty payment is expected as another is (2.4 step 9)",
            _payments(lambda expected, _: not expected),
        ),
        (
            "payment-compliance",
            "the payment of every kind is compared (2.4 step 9)",
            _passes("PAYMENT_HASH_MISMATCH", lambda case: receipt_kinds.kind_of(case.payload) != "compliance"),
        ),
        (
            "payment-member",
            "each kind has its own member of the payment (2.4 step 9)",
            lambda: replace(verification, "payment_hash_member", lambda _: lambda kind: "payment_hash"),  # noqa: ARG005
        ),
        (
            "order-of-bytes",
            "members are in the order of UTF-16 units (RFC 8785 3.2.3, 2.4 step 7)",
            _passes(
                "NON_CANONICAL_PAYLOAD", lambda case: not case.payload_bytes.isascii() and _in_order_of_bytes(case)
            ),
        ),
        (
            "number-fraction",
            "a number has one spelling (RFC 8785 3.2.2.3, 2.4 step 7)",
            _passes("NON_CANONICAL_PAYLOAD", lambda case: case.canonical is not None and _as_python_writes(case)),
        ),
        (
            "number-large",
            "an integer beyond 2^53 - 1 has no canonical form (P-CV-20, 2.4 step 7)",
            _passes("NON_CANONICAL_PAYLOAD", lambda case: case.canonical is None and _as_python_writes(case)),
        ),
        (
            "depth-unbounded",
            "a payload that nests too deep is refused (P-CV-02, 2.4 step 5)",
            lambda: replace(canonical_json, "_holds_no_float", _without_floor),
        ),
    )
)
