"""Two receipts compared, claim by claim: what is the same, what may differ, and what matters.

Pure: no network, no clock, and nothing is verified. A signature says something about another receipt only where both
sign the same bytes: Ed25519 has one signature of them for each key (RFC 8032 section 5.1.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final, Literal

from conformance.oracles.keys import KeyFault, decode_base64url
from conformance.receipts.offline.claim_values import ABSENT, equal, shapes_differ, text_of, types_differ
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
_KEYS_IN_HEADER: Final = frozenset({"jwk", "jku", "x5c", "x5u", "x5t", "x5t#S256"})
_SIGNATURE_BYTES: Final = 64
# The same instant in milliseconds is 1000 times the seconds; the quotient of two times of one call lies close to that.
_MILLISECONDS_RATIO: Final = (500, 2000)
# Two receipts of the same call in the same unit are years apart at most.
_LARGEST_RATIO: Final = 100


class Grade(StrEnum):
    """What a claim of two receipts comes to."""

    SAME = "same"
    EXPECTED = "expected"
    MATTERS = "matters"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Further facts about two receipts.

    Attributes:
        payments: Whether one payment bought both (an answer given twice, say), or two did.
        recipes: How each side hashes the request, by the names of `conformance.oracles.hashing`, where both are known.
        paths: The path that each side was called at, if known.
        request_at: The claim in which each side was found to bind the request, by its dotted name, where one was.
    """

    payments: Payments = "unknown"
    recipes: tuple[str, str] | None = None
    paths: tuple[str, str] | None = None
    request_at: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Compared:
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
    claims: tuple[Compared, ...]

    @property
    def grade(self) -> Grade:
        """The worst grade of a claim."""
        found = {one.grade for one in self.claims}
        return next(grade for grade in (Grade.MATTERS, Grade.EXPECTED, Grade.SAME) if grade in found)

    @property
    def mattering(self) -> tuple[Compared, ...]:
        """The claims whose difference matters."""
        return tuple(one for one in self.claims if one.grade is Grade.MATTERS)


def members(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the claims of a comparison as JSON objects."""
    return [{**asdict(one), "grade": one.grade.value} for one in comparison.claims]


def compare(left: Receipt, right: Receipt, known: Circumstances | None = None) -> Comparison:
    """Compare two receipts of the same call.

    Args:
        left: One receipt.
        right: The other.
        known: What else is known about them; by default nothing.
    """
    given = known or Circumstances()
    claims = [*_as_such(left, right), *_headers(left.header, right.header), *_payloads(left, right, given)]
    return Comparison(left, right, tuple(claims))


def _as_such(left: Receipt, right: Receipt) -> Iterator[Compared]:
    if left.kind == right.kind:
        grade, why = Grade.SAME, "Both are receipts of this kind."
    else:
        grade, why = Grade.MATTERS, "They are receipts of two kinds, which say different things."
    yield _compared("receipt", "kind of receipt", left.kind, right.kind, (grade, why))
    canonical = (left.departure is None, right.departure is None)
    if canonical == (True, True):
        grade, why = Grade.SAME, "The bytes of both payloads are their own canonical form (RFC 8785)."
    elif not any(canonical):
        grade, why = Grade.SAME, f"A verifier refuses both: left, {left.departure}; right, {right.departure}."
    else:
        side, departure = ("right", right.departure) if canonical[0] else ("left", left.departure)
        grade, why = Grade.MATTERS, f"A verifier refuses the {side} one: {departure}."
    yield _compared("receipt", "canonical form", *canonical, (grade, why))
    yield from _signatures(left, right)


def _signatures(left: Receipt, right: Receipt) -> Iterator[Compared]:
    """Yield the signatures where one of them cannot hold, which the receipts show by themselves."""
    (signed, one), (other_signed, other) = (text.rsplit(".", 1) for text in (left.text, right.text))
    if one == other:
        return
    wrong = [f"the {side}, {fault}" for side, fault in (("left", _fault(one)), ("right", _fault(other))) if fault]
    if wrong:
        why = f"No Ed25519 signature: {'; '.join(wrong)}."
    elif signed == other_signed:
        why = "The same bytes are signed, of which a key has one Ed25519 signature: at most one of the two holds."
    else:
        return
    yield _compared("receipt", "signature", one, other, (Grade.MATTERS, why))


def _fault(signature: str) -> str | None:
    try:
        raw = decode_base64url(signature)
    except KeyFault as fault:
        return f"it is {fault}"
    return None if len(raw) == _SIGNATURE_BYTES else f"it has {len(raw)} bytes, not {_SIGNATURE_BYTES}"


def _headers(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Compared]:
    for name in _ordered({*left, *right}, ("alg", "kid", "typ")):
        one, other = left.get(name, ABSENT), right.get(name, ABSENT)
        yield _compared("header", name, one, other, _header(name, one, other))


def _header(name: str, left: Any, right: Any) -> tuple[Grade, str]:
    if equal(left, right):
        return Grade.SAME, "Equal."
    if name in _DECIDING_HEADERS:
        return (
            Grade.MATTERS,
            "A verifier that does not know what this asks for refuses the receipt (RFC 7515, RFC 7797).",
        )
    if name in _KEYS_IN_HEADER:
        return Grade.EXPECTED, "A verifier takes no key from a header, so this member decides nothing."
    absent = left is ABSENT or right is ABSENT
    if name == "alg":
        return _algorithm(left, right)
    if not absent and (types := types_differ(left, right)) is not None:
        return Grade.MATTERS, types
    if name == "kid":
        said = f"Only the {_having(left)} one names its key; the other is tried with the first key of the set."
        return Grade.EXPECTED, said if absent else "Each receipt names the key of the one who signed it."
    if name == "typ":
        return _media_type(left, right, absent=absent)
    return Grade.EXPECTED, f"{_one_sided(left) if absent else ''}No verifier reads this member of the header."


def _algorithm(left: Any, right: Any) -> tuple[Grade, str]:
    if isinstance(left, str) and isinstance(right, str) and {left, right} <= _SAME_ALGORITHM:
        return Grade.EXPECTED, "Two names of the same algorithm (RFC 8037, RFC 9864)."
    return Grade.MATTERS, "A receipt is signed with Ed25519 and says so; a verifier refuses any other algorithm."


def _media_type(left: Any, right: Any, *, absent: bool) -> tuple[Grade, str]:
    if absent:
        return Grade.EXPECTED, "typ is optional (RFC 7515 section 4.1.9), and verification does not read it."
    one, other = (str(value).lower().removeprefix("application/") for value in (left, right))
    if one == other:
        return Grade.EXPECTED, "Two spellings of the same media type (RFC 7515 section 4.1.9)."
    return Grade.MATTERS, "Two media types: software that sorts tokens by typ takes them for different things."


def _payloads(left: Receipt, right: Receipt, known: Circumstances) -> Iterator[Compared]:
    tables = (RULES[left.kind], RULES[right.kind])
    rules = {**tables[1], **tables[0]}
    alike = left.kind == right.kind
    found = {path: (one, other) for path, one, other in _leaves(left.claims, right.claims, ())}
    for path in _ordered(found, rules):
        one, other = found[path]
        rule = rules.get(path, UNKNOWN)
        if equal(one, other):
            verdict = _same(rule, known)
        elif one is ABSENT or other is ABSENT:
            grade, why = _one_side(rule, one, alike=alike, required=is_required(path, left.kind))
            verdict = grade, why + _elsewhere(rule, one, known)
        else:
            verdict = _different(rule, path, one, other, known)
        yield _compared("payload", ".".join(path), one, other, verdict)


def _same(rule: Rule, known: Circumstances) -> tuple[Grade, str]:
    if rule.bound is Bound.PAYMENT and known.payments == "two":
        return Grade.MATTERS, "Two payments have one value, so the receipts do not tell which payment they are for."
    if rule.bound in {Bound.FORM, Bound.CALL, Bound.REQUEST}:
        return Grade.SAME, f"Equal, as it must be: it follows from {rule.bound.value}."
    return Grade.SAME, "Equal."


def _one_side(rule: Rule, left: Any, *, alike: bool, required: bool) -> tuple[Grade, str]:
    only = _one_sided(left)
    if not alike:
        return Grade.EXPECTED, f"{only}It goes with the kind of receipt."
    if required:
        return Grade.MATTERS, f"{only}Receipts of this kind must: a verifier refuses one without (specification 2.4)."
    if rule.bound is Bound.OPEN:
        return Grade.EXPECTED, f"{only}The profile knows no such claim, so no verifier reads it."
    return Grade.EXPECTED, f"{only}Receipts of this kind may, and no verifier asks for it."


def _elsewhere(rule: Rule, left: Any, known: Circumstances) -> str:
    """Say where the side without a request hash binds the request, if that was found."""
    lacking, name = (0, "left") if left is ABSENT else (1, "right")
    place = known.request_at[lacking] if rule.bound is Bound.REQUEST else None
    return "" if place is None else f" The {name} one binds the request in {place}."


def _different(rule: Rule, path: Path, left: Any, right: Any, known: Circumstances) -> tuple[Grade, str]:
    if (types := types_differ(left, right)) is not None:
        return Grade.MATTERS, types
    if rule.is_hash and (shapes := shapes_differ(left, right)) is not None:
        return Grade.MATTERS, shapes
    if rule.bound is Bound.WORD:
        return _word(rule, str(left), str(right))
    if rule.bound is Bound.REQUEST:
        return _request(rule, known)
    if rule.bound in {Bound.FORM, Bound.CALL}:
        return Grade.MATTERS, rule.differs
    if rule.bound is Bound.TIME:
        return _time(rule, left, right, known)
    if known.payments == "one" and rule.bound in {Bound.PAYMENT, Bound.RESPONSE, Bound.PARTY}:
        return (
            Grade.MATTERS,
            f"One payment bought both, so {path[-1]} must be the same: it follows from {rule.bound.value}.",
        )
    return Grade.EXPECTED, rule.differs


def _word(rule: Rule, left: str, right: str) -> tuple[Grade, str]:
    one, other = left.partition("/"), right.partition("/")
    if one[1:] == other[1:] and one[1]:
        return Grade.EXPECTED, rule.differs
    return Grade.MATTERS, "What follows the service word differs: a verifier of one does not know the other's kind."


def _request(rule: Rule, known: Circumstances) -> tuple[Grade, str]:
    """Say what two hashes of one request mean, with what is known of how each side hashes."""
    if known.recipes is None:
        return Grade.MATTERS, rule.differs
    left, right = known.recipes
    if left != right:
        said = f"The recipes differ, {left} and {right}: a verifier must know which one each implementation uses."
        return Grade.EXPECTED, said
    if left in OVER_PATH and known.paths is not None and known.paths[0] != known.paths[1]:
        said = f"Both hash by {left}, which is over the path, and the call stands at {' and '.join(known.paths)}."
        return Grade.EXPECTED, said
    over = ", or the service is sold under two names, which the recipe is over" if left in OVER_SERVICE else ""
    return Grade.MATTERS, f"Both hash by {left}, so the same request must have the same hash: one hashed another{over}."


def _time(rule: Rule, left: Any, right: Any, known: Circumstances) -> tuple[Grade, str]:
    numbers = sorted(value for value in (left, right) if isinstance(value, int | float) and value > 0)
    if len(numbers) == 2:
        lowest, highest = _MILLISECONDS_RATIO
        if lowest * numbers[0] <= numbers[1] <= highest * numbers[0]:
            return Grade.MATTERS, "The two times are in two units: one counts seconds, the other counts milliseconds."
        if numbers[1] > _LARGEST_RATIO * numbers[0]:
            return Grade.MATTERS, "The two times are decades apart: at least one of them is not the time of the call."
    if known.payments == "one":
        return Grade.EXPECTED, "One payment, two times: the receipt was issued again, not given again."
    return Grade.EXPECTED, rule.differs


def _compared(part: str, name: str, left: Any, right: Any, verdict: tuple[Grade, str]) -> Compared:
    one, other = (None if value is ABSENT else text_of(value) for value in (left, right))
    return Compared(part, name, one, other, *verdict)


def _leaves(left: Any, right: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """Yield every claim of two objects: where both have an object, its members; else the value itself."""
    for name in {**left, **right}:
        one, other = left.get(name, ABSENT), right.get(name, ABSENT)
        if isinstance(one, dict) and isinstance(other, dict) and (one or other):
            yield from _leaves(one, other, (*path, name))
        else:
            yield (*path, name), one, other


def _ordered(names: Iterable[Any], known: Iterable[Any]) -> list[Any]:
    """Return names in a known order, the unknown ones last, sorted."""
    places = {name: place for place, name in enumerate(known)}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))


def _one_sided(left: Any) -> str:
    return f"Only the {_having(left)} one has it. "


def _having(left: Any) -> str:
    return "right" if left is ABSENT else "left"
