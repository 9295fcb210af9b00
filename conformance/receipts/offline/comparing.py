"""Comparison of two receipts, claim by claim: equal, expected to differ, or a difference that matters.

Pure: no network, no clock, and nothing is verified. A signature says something about another receipt only where both
sign the same bytes: Ed25519 has one signature of them for each key (RFC 8032 section 5.1.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final, Literal

from conformance.oracles.ed25519_keys import KeyFault, decode_base64url
from conformance.receipts.offline.claim_value_comparison import ABSENT, equal, shapes_differ, text_of, types_differ
from conformance.receipts.offline.comparison_rules import (
    OVER_PATH,
    OVER_SERVICE,
    RULES,
    UNKNOWN,
    Bound,
    Path,
    Rule,
    is_required,
)
from conformance.receipts.offline.parsing import Receipt

Payments = Literal["one", "two", "unknown"]
_SAME_ALGORITHM: Final = frozenset({"EdDSA", "Ed25519"})
_DECIDING_HEADERS: Final = frozenset({"crit", "b64"})
# A receipt cannot vouch for its own key (P-RV-03), so a verifier ignores these members.
_KEYS_IN_HEADER: Final = frozenset({"jwk", "jku", "x5c", "x5u", "x5t", "x5t#S256"})
_SIGNATURE_BYTES: Final = 64
# The same instant in milliseconds is 1000 times the seconds; the quotient of two times of one call lies close to that.
_MILLISECONDS_RATIO: Final = (500, 2000)
# Two receipts of the same call in the same unit are years apart at most.
_LARGEST_RATIO: Final = 100


class Grade(StrEnum):
    """The grade of a claim in two receipts."""

    SAME = "same"
    EXPECTED = "expected"
    MATTERS = "matters"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Further facts about two receipts.

    Attributes:
        payments: Whether one payment bought both, as for an answer that is given twice, or two payments did.
        recipes: How each side hashes the request, by the names of `conformance.oracles.hash_recipes`, where both are
            known.
        paths: The path that each side was called at, if known.
        request_at: Dotted name of the claim by which each side binds the request, or None.
    """

    payments: Payments = "unknown"
    recipes: tuple[str, str] | None = None
    paths: tuple[str, str] | None = None
    request_at: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True)
class ClaimComparison:
    """One claim of both receipts.

    Attributes:
        part: `receipt`, `header` or `payload`.
        name: Its name, dotted if it is nested.
        left: The left value as JSON text, None if the claim is absent.
        right: The right value in the same form.
        grade: The verdict.
        why: The verdict as a sentence.
    """

    part: str
    name: str
    left: str | None
    right: str | None
    grade: Grade
    why: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two receipts, claim by claim: the receipts as such, their headers, then their payloads in the profile's order."""

    left: Receipt
    right: Receipt
    claims: tuple[ClaimComparison, ...]

    @property
    def grade(self) -> Grade:
        """The worst grade of a claim."""
        found = {one.grade for one in self.claims}
        return next(grade for grade in (Grade.MATTERS, Grade.EXPECTED, Grade.SAME) if grade in found)

    @property
    def mattering_claims(self) -> tuple[ClaimComparison, ...]:
        """The claims whose difference matters."""
        return tuple(one for one in self.claims if one.grade is Grade.MATTERS)


def members(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the claims of a comparison as JSON objects."""
    return [{**asdict(one), "grade": one.grade.value} for one in comparison.claims]


def compare(left_receipt: Receipt, right_receipt: Receipt, circumstances: Circumstances | None = None) -> Comparison:
    """Compare two receipts of the same call.

    Args:
        left_receipt: One receipt.
        right_receipt: The other receipt.
        circumstances: Further facts about them; by default none.
    """
    known_facts = circumstances or Circumstances()
    claims = [
        *_as_such(left_receipt, right_receipt),
        *_headers(left_receipt.header, right_receipt.header),
        *_payloads(left_receipt, right_receipt, known_facts),
    ]
    return Comparison(left_receipt, right_receipt, tuple(claims))


def _as_such(left_receipt: Receipt, right_receipt: Receipt) -> Iterator[ClaimComparison]:
    if left_receipt.kind == right_receipt.kind:
        grade, why = Grade.SAME, "Both are receipts of this kind."
    else:
        grade, why = Grade.MATTERS, "They are receipts of two kinds, which say different things."
    yield _compared_claim("receipt", "kind of receipt", left_receipt.kind, right_receipt.kind, (grade, why))
    # A payload in another form than its canonical one is refused, whatever it says (2.4 step 7).
    canonical = (left_receipt.departure is None, right_receipt.departure is None)
    if canonical == (True, True):
        grade, why = Grade.SAME, "The bytes of both payloads are their own canonical form (RFC 8785)."
    elif not any(canonical):
        grade, why = (
            Grade.SAME,
            f"A verifier refuses both: left, {left_receipt.departure}; right, {right_receipt.departure}.",
        )
    else:
        side, departure = ("right", right_receipt.departure) if canonical[0] else ("left", left_receipt.departure)
        grade, why = Grade.MATTERS, f"A verifier refuses the {side} one: {departure}."
    yield _compared_claim("receipt", "canonical form", *canonical, (grade, why))
    yield from _signatures(left_receipt, right_receipt)


def _signatures(left_receipt: Receipt, right_receipt: Receipt) -> Iterator[ClaimComparison]:
    """Yield the signatures if one of them cannot be valid, which shows without any key."""
    (signed_text, first), (other_signed, second) = (
        text.rsplit(".", 1) for text in (left_receipt.text, right_receipt.text)
    )
    # Equal signatures are the normal case of a receipt that is compared with itself, and say nothing.
    if first == second:
        return
    wrong = [f"the {side}, {fault}" for side, fault in (("left", _fault(first)), ("right", _fault(second))) if fault]
    if wrong:
        why = f"No Ed25519 signature: {'; '.join(wrong)}."
    elif signed_text == other_signed:
        why = "The same bytes are signed, of which a key has one Ed25519 signature: at most one of the two holds."
    else:
        return
    yield _compared_claim("receipt", "signature", first, second, (Grade.MATTERS, why))


def _fault(signature: str) -> str | None:
    try:
        raw = decode_base64url(signature)
    except KeyFault as fault:
        return f"it is {fault}"
    return None if len(raw) == _SIGNATURE_BYTES else f"it has {len(raw)} bytes, not {_SIGNATURE_BYTES}"


def _headers(left_header: Mapping[str, Any], right_header: Mapping[str, Any]) -> Iterator[ClaimComparison]:
    for name in _sort_by_order({*left_header, *right_header}, ("alg", "kid", "typ")):
        left_value, right_value = left_header.get(name, ABSENT), right_header.get(name, ABSENT)
        yield _compared_claim("header", name, left_value, right_value, _header(name, left_value, right_value))


def _header(name: str, left_value: Any, right_value: Any) -> tuple[Grade, str]:
    if equal(left_value, right_value):
        return Grade.SAME, "Equal."
    # `crit` and `b64` change how a receipt must be verified.
    if name in _DECIDING_HEADERS:
        return (
            Grade.MATTERS,
            "A verifier that does not know what this asks for refuses the receipt (RFC 7515, RFC 7797).",
        )
    if name in _KEYS_IN_HEADER:
        return Grade.EXPECTED, "A verifier takes no key from a header, so this member decides nothing."
    absent = left_value is ABSENT or right_value is ABSENT
    if name == "alg":
        return _algorithm(left_value, right_value)
    if not absent and (types := types_differ(left_value, right_value)) is not None:
        return Grade.MATTERS, types
    if name == "kid":
        side = _side_with_value(left_value)
        sentence = f"Only the {side} one names its key; the other is tried with the first key of the set."
        return Grade.EXPECTED, sentence if absent else "Each receipt names the key of the one who signed it."
    if name == "typ":
        return _media_type(left_value, right_value, absent=absent)
    return Grade.EXPECTED, f"{_one_sided(left_value) if absent else ''}No verifier reads this member of the header."


def _algorithm(left_value: Any, right_value: Any) -> tuple[Grade, str]:
    if isinstance(left_value, str) and isinstance(right_value, str) and {left_value, right_value} <= _SAME_ALGORITHM:
        return Grade.EXPECTED, "Two names of the same algorithm (RFC 8037, RFC 9864)."
    return Grade.MATTERS, "A receipt is signed with Ed25519 and says so; a verifier refuses any other algorithm."


def _media_type(left_value: Any, right_value: Any, *, absent: bool) -> tuple[Grade, str]:
    if absent:
        return Grade.EXPECTED, "typ is optional (RFC 7515 section 4.1.9), and verification does not read it."
    left_type, right_type = (str(value).lower().removeprefix("application/") for value in (left_value, right_value))
    if left_type == right_type:
        return Grade.EXPECTED, "Two spellings of the same media type (RFC 7515 section 4.1.9)."
    return Grade.MATTERS, "Two media types: software that sorts tokens by typ takes them for different things."


# How a claim of the payload is graded. Each claim is determined by one fact, its `Bound`. A fact that both receipts
# share, such as the call, must give equal values, so a difference matters. A fact that each side has for itself, such
# as its issuer or its time, may differ. Whether the payment is shared depends on the circumstances. Types and the form
# of a hash come before all this: a program that reads one side's type cannot read the other's.
def _payloads(left_receipt: Receipt, right_receipt: Receipt, circumstances: Circumstances) -> Iterator[ClaimComparison]:
    tables = (RULES[left_receipt.kind], RULES[right_receipt.kind])
    # Receipts of two kinds have claims in common. For those the rule of the left kind decides.
    rules = {**tables[1], **tables[0]}
    alike = left_receipt.kind == right_receipt.kind
    values = {
        path: (left_value, right_value)
        for path, left_value, right_value in _leaves(left_receipt.claims, right_receipt.claims, ())
    }
    for path in _sort_by_order(values, rules):
        left_value, right_value = values[path]
        rule = rules.get(path, UNKNOWN)
        if equal(left_value, right_value):
            verdict = _judge_equal(rule, circumstances)
        elif left_value is ABSENT or right_value is ABSENT:
            grade, why = _one_side(
                rule, left_value, is_same_kind=alike, is_required_member=is_required(path, left_receipt.kind)
            )
            verdict = grade, why + _elsewhere(rule, left_value, circumstances)
        else:
            verdict = _different(rule, path, left_value, right_value, circumstances)
        yield _compared_claim("payload", ".".join(path), left_value, right_value, verdict)


def _judge_equal(rule: Rule, circumstances: Circumstances) -> tuple[Grade, str]:
    if rule.bound is Bound.PAYMENT and circumstances.payments == "two":
        return Grade.MATTERS, "Two payments have one value, so the receipts do not tell which payment they are for."
    if rule.bound in {Bound.FORM, Bound.CALL, Bound.REQUEST}:
        return Grade.SAME, f"Equal, as it must be: it follows from {rule.bound.value}."
    return Grade.SAME, "Equal."


def _one_side(rule: Rule, left_value: Any, *, is_same_kind: bool, is_required_member: bool) -> tuple[Grade, str]:
    only = _one_sided(left_value)
    if not is_same_kind:
        return Grade.EXPECTED, f"{only}It goes with the kind of receipt."
    if is_required_member:
        return Grade.MATTERS, f"{only}Receipts of this kind must: a verifier refuses one without (specification 2.4)."
    if rule.bound is Bound.OPEN:
        return Grade.EXPECTED, f"{only}The profile knows no such claim, so no verifier reads it."
    return Grade.EXPECTED, f"{only}Receipts of this kind may, and no verifier asks for it."


def _elsewhere(rule: Rule, left_value: Any, circumstances: Circumstances) -> str:
    """Return where the side without a request hash binds the request, if known."""
    index, name = (0, "left") if left_value is ABSENT else (1, "right")
    place = circumstances.request_at[index] if rule.bound is Bound.REQUEST else None
    return "" if place is None else f" The {name} one binds the request in {place}."


def _different(
    rule: Rule, path: Path, left_value: Any, right_value: Any, circumstances: Circumstances
) -> tuple[Grade, str]:
    if (types := types_differ(left_value, right_value)) is not None:
        return Grade.MATTERS, types
    if rule.is_hash and (shapes := shapes_differ(left_value, right_value)) is not None:
        return Grade.MATTERS, shapes
    if rule.bound is Bound.WORD:
        return _word(rule, str(left_value), str(right_value))
    if rule.bound is Bound.REQUEST:
        return _request(rule, circumstances)
    if rule.bound in {Bound.FORM, Bound.CALL}:
        return Grade.MATTERS, rule.differs
    if rule.bound is Bound.TIME:
        return _time(rule, left_value, right_value, circumstances)
    if circumstances.payments == "one" and rule.bound in {Bound.PAYMENT, Bound.RESPONSE, Bound.PARTY}:
        return (
            Grade.MATTERS,
            f"One payment bought both, so {path[-1]} must be the same: it follows from {rule.bound.value}.",
        )
    return Grade.EXPECTED, rule.differs


def _word(rule: Rule, left_text: str, right_text: str) -> tuple[Grade, str]:
    left_parts, right_parts = left_text.partition("/"), right_text.partition("/")
    # The part before the slash is the service word, which each operator chooses. A text without a slash has no such
    # part.
    if left_parts[1:] == right_parts[1:] and left_parts[1]:
        return Grade.EXPECTED, rule.differs
    return Grade.MATTERS, "What follows the service word differs: a verifier of one does not know the other's kind."


def _request(rule: Rule, circumstances: Circumstances) -> tuple[Grade, str]:
    """Grade two hashes of one request, with the recipes of the sides if they are known."""
    if circumstances.recipes is None:
        return Grade.MATTERS, rule.differs
    left_recipe, right_recipe = circumstances.recipes
    if left_recipe != right_recipe:
        sentence = (
            f"The recipes differ, {left_recipe} and {right_recipe}: a verifier must know which one each "
            "implementation uses."
        )
        return Grade.EXPECTED, sentence
    if (
        left_recipe in OVER_PATH
        and circumstances.paths is not None
        and circumstances.paths[0] != circumstances.paths[1]
    ):
        paths = " and ".join(circumstances.paths)
        sentence = f"Both hash by {left_recipe}, which covers the path, and the call is at {paths}."
        return Grade.EXPECTED, sentence
    over = ", or the service is sold under two names, which the recipe is over" if left_recipe in OVER_SERVICE else ""
    return (
        Grade.MATTERS,
        f"Both hash by {left_recipe}, so the same request must have the same hash: one hashed another{over}.",
    )


def _time(rule: Rule, left_value: Any, right_value: Any, circumstances: Circumstances) -> tuple[Grade, str]:
    numbers = sorted(value for value in (left_value, right_value) if isinstance(value, int | float) and value > 0)
    if len(numbers) == 2:
        lowest, highest = _MILLISECONDS_RATIO
        # The receipts need not be of the same second, so the ratio is compared with a range around 1000.
        if lowest * numbers[0] <= numbers[1] <= highest * numbers[0]:
            return Grade.MATTERS, "The two times are in two units: one counts seconds, the other counts milliseconds."
        # One of the two is not a time, for example a counter.
        if numbers[1] > _LARGEST_RATIO * numbers[0]:
            return Grade.MATTERS, "The two times are decades apart: at least one of them is not the time of the call."
    if circumstances.payments == "one":
        return Grade.EXPECTED, "One payment, two times: the receipt was issued again, not given again."
    return Grade.EXPECTED, rule.differs


def _compared_claim(
    part: str, name: str, left_value: Any, right_value: Any, verdict: tuple[Grade, str]
) -> ClaimComparison:
    left_text, right_text = (None if value is ABSENT else text_of(value) for value in (left_value, right_value))
    return ClaimComparison(part, name, left_text, right_text, *verdict)


def _leaves(left_members: Any, right_members: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """Yield every claim of two objects; a claim that is an object on both sides is replaced by its members."""
    for name in {**left_members, **right_members}:
        left_value, right_value = left_members.get(name, ABSENT), right_members.get(name, ABSENT)
        # Two empty objects have no members, so they are compared as one claim. Otherwise they would vanish from the
        # table.
        if isinstance(left_value, dict) and isinstance(right_value, dict) and (left_value or right_value):
            yield from _leaves(left_value, right_value, (*path, name))
        else:
            yield (*path, name), left_value, right_value


def _sort_by_order(names: Iterable[Any], known_order: Iterable[Any]) -> list[Any]:
    """Return names in a given order, with unknown ones sorted at the end."""
    places = {name: place for place, name in enumerate(known_order)}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))


def _one_sided(left_value: Any) -> str:
    return f"Only the {_side_with_value(left_value)} one has it. "


def _side_with_value(left_value: Any) -> str:
    return "right" if left_value is ABSENT else "left"
