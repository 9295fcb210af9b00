"""The members of an agent's results, by the suite's own judgement of the message (specification 6.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from conformance.oracles.member_rules import Rule, Rules, equals, is_an, is_equal, matches, one_of
from conformance.oracles.message_signatures import digests, structured
from conformance.oracles.message_signatures.answer_members import verify_answer
from conformance.oracles.message_signatures.faults import Code
from conformance.oracles.message_signatures.judgement import Judgement
from conformance.oracles.message_signatures.message import Message

_ADDRESS: Final = r"https?://[^\s]+"
# 6.3 does not say whether the equation is asked of a rejected key, nor over a base with a component that comes twice.
_EQUATION_IS_OPEN: Final = frozenset({Code.KEY_REJECTED, Code.DUPLICATE_COMPONENT})
_ANY_OUTCOME: Final = ("pass", "fail", "skipped")
_ANY_TRUTH: Final = (True, False, None)
# Nor what a digest without a comparable value shows.
_NO_COMPARISON: Final = frozenset({Code.CONTENT_DIGEST_MALFORMED, Code.CONTENT_DIGEST_UNSUPPORTED})
_DIGEST_IS_OPEN: Final = _NO_COMPARISON | {Code.CONTENT_DIGEST_MISSING, Code.CONTENT_DIGEST_NOT_COVERED}
_CHECKS: Final = ("signature", "content_digest", "created", "expires")
_VERDICTS: Final = {True: "pass", False: "fail", None: "unverified"}


def find_result_faults(document: Mapping[str, Any], judgement: Judgement) -> list[str]:
    """Return what of the members that verify and explain share is not as 6.3 says, in words.

    Args:
        document: The answer.
        judgement: The suite's own judgement of the message.
    """
    expected = verify_answer(judgement)
    rules: dict[str, Rule] = {
        "valid": equals(expected["valid"]),
        # Without a key "valid is null, faults listed or not".
        "errors": _sentences(is_empty=None if judgement.is_valid is None else not judgement.faults),
        "label": equals(expected["label"]),
        "spec_ref": matches(_ADDRESS + "9421.*"),
        "digest_spec_ref": matches(_ADDRESS + "9530.*"),
        "covered_components": equals(expected["covered_components"]),
        "parameters": _in_order(expected["parameters"], _find_decimals(judgement)),
        **_base_rules(judgement),
        **_equation_rules(judgement),
    }
    faults = [*_find_breaches(document, rules), *_find_check_faults(document, judgement)]
    errors, codes = document.get("errors"), document.get("error_codes")
    if not isinstance(codes, list) or not isinstance(errors, list) or len(codes) != len(errors):
        faults.append("error_codes is not an array of the same length as errors")
    return faults


def _base_rules(judgement: Judgement) -> Rules:
    base = judgement.base
    if base is None:
        # 6.3: after a fault of the headers base, components and parameters are empty.
        return dict.fromkeys(("signature_base", "signing_base"), one_of(("", None)))
    if base.text is None:
        return {}
    return dict.fromkeys(("signature_base", "signing_base"), equals(base.text))


def _equation_rules(judgement: Judgement) -> Rules:
    if _EQUATION_IS_OPEN & set(judgement.codes):
        return {"signature_valid": one_of(_ANY_TRUTH)}
    holds = {"pass": True, "fail": False, "skipped": None}[judgement.outcomes["signature"]]
    return {"signature_valid": equals(holds)}


def _find_check_faults(document: Mapping[str, Any], judgement: Judgement) -> list[str]:
    """Return what is wrong with `checked` and `content_digest_valid`."""
    codes, outcomes = set(judgement.codes), judgement.outcomes
    rules = {name: equals(outcomes[name]) for name in _CHECKS}
    if codes & _EQUATION_IS_OPEN:
        rules["signature"] = one_of(_ANY_OUTCOME)
    digest_rule = equals({"pass": True, "fail": False, "skipped": None}[outcomes["content_digest"]])
    if codes & _DIGEST_IS_OPEN or judgement.signature is None:
        # 6.3 leaves open whether a digest that is demanded and absent was "compared", whether one that matches and is
        # not covered is valid, and what is checked after a fault of the headers.
        rules["content_digest"], digest_rule = one_of(_ANY_OUTCOME), one_of(_ANY_TRUTH)
    checked = document.get("checked")
    members = checked if isinstance(checked, Mapping) else {}
    faults = [f"checked.{fault}" for fault in _find_breaches(members, rules)]
    return [*faults, *_find_breaches(document, {"content_digest_valid": digest_rule})]


def find_explanation_faults(document: Mapping[str, Any], message: Message, judgement: Judgement) -> list[str]:
    """Return what of the further members of an explanation is not as 6.3 says, in words.

    Args:
        document: The answer.
        message: The message that was explained.
        judgement: The suite's own judgement of it.
    """
    rules: dict[str, Rule] = {
        "verdict": equals(_VERDICTS[judgement.is_valid]),
        "fix_notes": _sentences(is_empty=None if judgement.is_valid else False),
        "diagnosis": equals(document.get("fix_notes")),
        "links": Rule("an object of addresses", _holds_addresses),
        "citation": is_an(str),
    }
    faults = _find_breaches(document, rules)
    if judgement.is_valid is False and not find_clauses(document):
        faults.append("links has no clause of a fault")
    digest = document.get("content_digest")
    if not isinstance(digest, Mapping):
        return [*faults, "content_digest is no object"]
    return [*faults, *(f"content_digest.{fault}" for fault in _find_digest_faults(digest, message, judgement))]


def _find_digest_faults(digest: Mapping[str, Any], message: Message, judgement: Judgement) -> list[str]:
    components = () if judgement.signature is None else judgement.signature.coverage.components
    report = digests.compare(message, components, is_required=False)
    rules: dict[str, Rule] = {"present": equals(report.is_present), "covered": equals(report.is_covered)}
    if not report.is_present:
        # "computed is in base64 … of sha-256 when the message has no digest". Nothing was compared.
        rules |= {
            "algorithm": one_of((None, "sha-256")),
            "provided": equals(None),
            "computed": equals(report.content_digest),
            "match": equals(None),
        }
        return _find_breaches(digest, rules)
    if _NO_COMPARISON & {fault.code for fault in report.faults}:
        return _find_breaches(digest, rules)
    # Of several digests the interface does not say which one is shown; what is shown belongs together.
    named = digest.get("algorithm")
    provided = _read_digests(message)
    if named not in provided:
        return [*_find_breaches(digest, rules), f"algorithm is {named!r}, not one of {sorted(provided)}"]
    computed = digests.digest_value(message.body, str(named)).partition("=")[2].strip(":")
    rules |= {
        "provided": equals(provided[str(named)]),
        "computed": equals(computed),
        "match": equals(report.match),
    }
    return _find_breaches(digest, rules)


def _read_digests(message: Message) -> dict[str, str]:
    members = structured.read_dictionary(message.field(digests.FIELD) or "")
    return {
        name: structured.write_bare(member.value).strip(":")
        for name, member in members.items()
        if name in digests.HASHES_BY_NAME and isinstance(member, structured.Item)
    }


def _sentences(*, is_empty: bool | None) -> Rule:
    def holds(value: Any) -> bool:
        are_texts = isinstance(value, list) and all(isinstance(one, str) and one.strip() for one in value)
        return are_texts and (is_empty is None or bool(value) is not is_empty)

    return Rule({True: "an empty array", False: "an array of sentences", None: "an array of texts"}[is_empty], holds)


def _find_decimals(judgement: Judgement) -> frozenset[str]:
    """Return the names of the parameters that are decimals: a number and its text are both JSON for them."""
    parameters = () if judgement.signature is None else judgement.signature.coverage.parameters
    return frozenset(name for name, value in parameters if isinstance(value, Decimal))


def _in_order(expected: Mapping[str, Any], decimals: frozenset[str]) -> Rule:
    def holds(value: Any) -> bool:
        if not isinstance(value, Mapping) or list(value) != list(expected):
            return False
        shown = {
            name: str(one) if name in decimals and isinstance(one, int | float) else one for name, one in value.items()
        }
        return is_equal(shown, expected)

    return Rule(f"{dict(expected)!r}, in this order", holds)


def _holds_addresses(value: Any) -> bool:
    rule = matches(_ADDRESS)
    return isinstance(value, Mapping) and bool(value) and all(rule.holds(one) for one in value.values())


def find_clauses(document: Mapping[str, Any]) -> frozenset[str]:
    """Return the addresses in `links` that name a part of a document."""
    links = document.get("links")
    values = links.values() if isinstance(links, Mapping) else ()
    return frozenset(one for one in values if isinstance(one, str) and "#" in one)


def _find_breaches(document: Mapping[str, Any], rules: Rules) -> list[str]:
    """Return the members that are missing or break their rule. Further members are allowed."""
    faults = [f"{name} is missing" for name in rules if name not in document]
    return faults + [
        f"{name} is {document[name]!r}, not {rule.text}"[:400]
        for name, rule in rules.items()
        if name in document and not rule.holds(document[name])
    ]


def find_misplaced_codes(documents: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the sentences whose code is not at their place in `error_codes`.

    An answer with one error shows which code a sentence has. Where the same sentence is one of several errors, its code
    is at the same place. A sentence that has several codes shows nothing.
    """
    answers = [one for one in map(_read_errors, documents) if one is not None]
    codes_by_sentence: dict[str, set[str]] = {}
    for errors, codes in answers:
        if len(errors) == 1:
            codes_by_sentence.setdefault(errors[0], set()).add(codes[0])
    return [
        f"{sentence!r} with {code}, which has {min(known)}"
        for errors, codes in answers
        for sentence, code in zip(errors, codes, strict=True)
        if len(known := codes_by_sentence.get(sentence, set())) == 1 and code not in known
    ]


def _read_errors(document: Mapping[str, Any]) -> tuple[Sequence[str], Sequence[str]] | None:
    errors, codes = document.get("errors"), document.get("error_codes")
    if not isinstance(errors, list) or not isinstance(codes, list) or len(errors) != len(codes):
        return None
    return [str(one) for one in errors], [str(one) for one in codes]


def find_lacking_clauses(documents: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the codes whose clause is in the links of their lone fault, and not next to other faults.

    Only codes with at least two answers, whose lone fault always has the same links, count.
    """
    answers = list(documents)
    clauses_by_code: dict[str, list[frozenset[str]]] = {}
    for document in answers:
        codes = set(document.get("error_codes") or ())
        if len(codes) == 1:
            clauses_by_code.setdefault(min(codes), []).append(find_clauses(document))
    known = {code: many[0] for code, many in clauses_by_code.items() if len(many) > 1 and len(set(many)) == 1}
    return [
        f"{code} with {len(codes) - 1} more"
        for document in answers
        if len(codes := set(document.get("error_codes") or ())) > 1
        for code in sorted(codes & known.keys())
        if not known[code] <= find_clauses(document)
    ]
