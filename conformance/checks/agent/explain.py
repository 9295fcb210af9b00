"""AGENT-EXPLAIN: the verdict, the base, the components, the parameters, the digest and the notes of an explanation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeGuard

from conformance.assertions.agent.result_members import RESULT_ROW, judge_result_members
from conformance.assertions.agent.verdicts import (
    TWO_LINES,
    UNUSUAL,
    find_explanation_hint,
    make_sound_subjects,
)
from conformance.assertions.agent.verdicts import (
    describe_verdict as verdict_of,
)
from conformance.assertions.agent.verify_explain_agreement import compute_digests, is_readable, judge_agreement
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.oracles.message_signatures.digests import digest_value
from conformance.oracles.message_signatures.structured import BareItem
from conformance.surfaces import binding_hints
from conformance.surfaces.agent import Agent, Subject, agent_of, answer_reader, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import BODY, FIELDS, raw_public

_FIX = (
    "Return the verdict, the exact signature base, the covered components in the order of Signature-Input and its "
    "parameters. Also return the digest computed from the content, and the changes that would make it valid."
)
_PARAMETERS = {"keyid": "weldproof-keyid", "alg": "ed25519", "nonce": "n0nce-of-the-suite", "tag": "weldproof-tag"}
# Seconds since 1970: the first of January 2100, so that no verifier finds the signature expired.
_FAR_FUTURE = 4_102_444_800
# `verdict` is a name of the answer. An agent that copies its input into the answer would report the caller's verdict.
_EXTRAS: Mapping[str, object] = {"x-unknown": "text", "comment": None, "nested": {"a": [1]}, "verdict": "pass"}


def describe_verdict(agent: Agent, answer: Answer) -> str:
    """Return the verdict of an explanation in words."""
    return {True: "pass", False: "fail", None: "neither pass nor fail"}[agent.verdict(answer)]


def find_contradictions(document: Mapping[str, Any]) -> list[str]:
    """Return the members for the whole verdict if they do not agree."""
    truths = {
        name: answer_reader.truth(document[name]) for name in ("valid", "verdict", "is_valid") if name in document
    }
    return [f"{name}: {document[name]!r}" for name in truths] if len(set(truths.values())) > 1 else []


def _usual_subjects(case: Case, agent: Agent) -> dict[str, Subject]:
    """Return valid messages that no verifier may refuse; an agent that claims the specification knows field lines."""
    allowed = frozenset({TWO_LINES}) if case.profile.claims.specification is not None else frozenset()
    open_names = frozenset() if agent.is_reference else UNUSUAL - allowed
    return {name: one for name, one in make_sound_subjects(case).items() if name not in open_names}


def make_wrong_subjects(case: Case) -> dict[str, Subject]:
    """Return messages with one fault each."""
    subject = signed(case)
    return {
        "another key": subject.with_expected_key(raw_public(signer(case))),
        "another path": subject.with_changes(target="/elsewhere"),
        "another body": subject.with_changes(body=b"{}"),
        "a covered field taken away": subject.with_field("Content-Digest", None),
        "a signature of zeros": subject.with_field("Signature", f"sig1=:{'A' * 86}==:"),
    }


@check(
    *("AGENT-EXPLAIN-01", "AGENT-EXPLAIN-02", "AGENT-EXPLAIN-06", "AGENT-EXPLAIN-11", "AGENT-EXPLAIN-12"),
    surface="agent",
    fix=_FIX,
)
async def explanations_say_pass_or_fail(case: Case) -> None:
    """Explain returns the same verdict as verify, the signature base, and how to correct a failure, always with 200.

    Explains valid messages of many forms, and messages with one fault each. Expects the same verdict as from verify,
    for the valid ones the base byte for byte, and for the others at least one note for people.
    """
    agent = await agent_of(case)
    for valid, subjects in ((True, _usual_subjects(case, agent)), (False, make_wrong_subjects(case))):
        # One after the other: a verifier that confuses messages by a cache then makes the same mistakes in every run.
        verify_answers = [await agent.verify(subject) for subject in subjects.values()]
        explain_answers = await run_concurrently(map(agent.explain, subjects.values()))
        for (message_name, subject), plain, answer in zip(
            subjects.items(), verify_answers, explain_answers, strict=True
        ):
            where = {"message": message_name}
            word = describe_verdict(agent, answer)
            requirement = "pass" if valid else "fail"
            contradictory = find_contradictions(answer.read_object())
            holds = answer.status == 200 and word == requirement and not contradictory
            hint = find_explanation_hint(agent, answer) if valid else None
            case.expect(
                "AGENT-EXPLAIN-01", holds, requirement, contradictory or word, exchange=answer, where=where, hint=hint
            )
            finding = f"verify: {verdict_of(agent, plain)}; explain: {word}"
            judge_agreement(case, agent, (agent.validity(plain), agent.verdict(answer)), finding, answer, where)
            if valid:
                base = agent.base(answer)
                requirement = f"the base, byte for byte: {subject.base!r}"
                case.expect(
                    "AGENT-EXPLAIN-02", base == subject.base, requirement, repr(base), exchange=answer, where=where
                )
            else:
                case.expect(
                    "AGENT-EXPLAIN-12", answer.status == 200, "200", answer.status, exchange=answer, where=where
                )
                _judge_notes(case, agent, answer, where)


def _judge_notes(case: Case, agent: Agent, answer: Answer, where: Mapping[str, str]) -> None:
    notes = agent.notes(answer)
    if (
        notes is None
        and not agent.is_reference
        and any(is_readable(text) for _, text in answer_reader.texts(answer.read_object()))
    ):
        case.mark_inconclusive("AGENT-EXPLAIN-06", "unbound: which text is the fix notes; give [agent] notes_at")
        return
    holds = any(is_readable(note) for note in notes or ())
    case.expect("AGENT-EXPLAIN-06", holds, "a note for people", notes, exchange=answer, where=where)


def _columns(value: Any) -> Iterator[list[str]]:
    """Yield the component names of a list, without quotes and parameters: its texts, or one column of its rows."""
    if not isinstance(value, list) or not value:
        return
    rows = [
        one if isinstance(one, dict) else dict(enumerate(one)) if isinstance(one, list) else {0: one} for one in value
    ]
    for place in rows[0]:
        column = [row.get(place) for row in rows]
        if all(isinstance(one, str) for one in column):
            yield [str(one).partition(";")[0].strip().strip('"').lower() for one in column]


def shows_components(document: Any, components: tuple[str, ...]) -> bool:
    """Return whether a list in an answer, or a text of one line, has the components in this order."""
    # The form of an inner list of Signature-Input, with or without parameters behind each name.
    inner = re.compile(r"\(\s*" + r"\s+".join(f'"{re.escape(name)}"[^ )]*' for name in components) + r"\s*\)")
    for _, value in answer_reader.leaves(document):
        if list(components) in _columns(value):
            return True
        if _is_apart(value) and inner.search(value):
            return True
    return False


def _is_apart(value: Any) -> TypeGuard[str]:
    """Return whether a value is a text of one line that is not part of the base, which contains both anyway."""
    return isinstance(value, str) and "\n" not in value and '"@signature-params"' not in value


def find_lacking_parameters(document: Any, parameters: Mapping[str, Any]) -> list[str]:
    """Return the signature parameters that no object, list or one-line text of an answer has with their values."""
    best = list(parameters)
    for _, value in answer_reader.leaves(document):
        if isinstance(value, dict):
            lacking_names = [name for name, wanted in parameters.items() if not _is_equal(value.get(name), wanted)]
        elif isinstance(value, list):
            pairs = {str(one.get("name")): one.get("value") for one in value if isinstance(one, dict)}
            pairs |= {str(one[0]): one[1] for one in value if isinstance(one, list) and len(one) == 2}
            lacking_names = [name for name, wanted in parameters.items() if not _is_equal(pairs.get(name), wanted)]
        elif _is_apart(value):
            lacking_names = [name for name, wanted in parameters.items() if not _is_written(name, wanted, value)]
        else:
            continue
        best = min(best, lacking_names, key=len)
    return best


def _is_equal(value: Any, expected_value: Any) -> bool:
    return (
        not isinstance(value, bool)
        and (value == expected_value or str(value) == str(expected_value))
        and value is not None
    )


def _is_written(name: str, value: Any, text: str) -> bool:
    """Return whether a text has a parameter as Signature-Input writes it, with any separator between parameters."""
    parameter_text = f"{name}={value}" if isinstance(value, int) else f'{name}="{value}"'
    return re.search(rf"(?<![a-z0-9_.*-]){re.escape(parameter_text)}(?![0-9])", text) is not None


@check("AGENT-EXPLAIN-03", "AGENT-EXPLAIN-04", surface="agent", fix=_FIX)
async def explanations_show_what_is_signed(case: Case) -> None:
    """Explain gives the covered components in signed order, and the signature parameters.

    Explains messages that cover components in different orders, under five parameters, valid and with a wrong key.
    Expects a list of exactly these in exactly this order, and each parameter with its value.
    """
    agent = await agent_of(case)
    # The same components in reverse order, so that an agent which sorts them fails in one of the two.
    orders = (
        ("@method", "@authority", "@path", "content-type", "content-digest"),
        ("content-digest", "content-type", "@path", "@authority", "@method"),
        ("date", "@query", "accept", "@method"),
        ("@path",),
    )
    for n, order in enumerate(orders):
        chosen_parameters: dict[str, BareItem] = (
            {**_PARAMETERS, "nonce": f"n0nce-{n}"} if n % 2 == 0 else {"expires": _FAR_FUTURE, "keyid": f"key-{n}"}
        )
        subject = signed(case, components=order, parameters=chosen_parameters)
        for message_name, variant in (
            ("sound", subject),
            ("another key", subject.with_expected_key(raw_public(signer(case)))),
        ):
            answer = await agent.explain(variant)
            where = {"components": " ".join(order), "message": message_name}
            document = answer.read_object()
            holds = answer.status == 200 and shows_components(document, subject.components)
            finding = f"{answer.status}, {'that list' if holds else 'another list, or none'}"
            case.expect("AGENT-EXPLAIN-03", holds, "the components in order", finding, exchange=answer, where=where)
            lacking_names = find_lacking_parameters(document, subject.parameters or {})
            requirement = "every parameter with its value"
            holds = answer.status == 200 and not lacking_names
            case.expect(
                "AGENT-EXPLAIN-04",
                holds,
                requirement,
                f"{answer.status}, lacking: {lacking_names or 'none'}",
                exchange=answer,
                where=where,
            )


@check("AGENT-EXPLAIN-05", surface="agent", fix="Compute the digest from the content of the request, every time.")
async def explanations_recompute_the_digest(case: Case) -> None:
    """Explain gives a Content-Digest that it computed itself from the content.

    Explains messages whose digest is right, wrong, of sha-512, and of other contents. Expects the digest of the content
    that was sent, even if the field has another.
    """
    agent = await agent_of(case)
    wrong_field = (("Content-Digest", digest_value(b"another content", "sha-256")),)
    cover = ("@method", "content-digest")
    subjects = {
        "a right digest": signed(case),
        "another content": signed(case, body=b"hello"),
        "binary content": signed(case, body=bytes(range(256))),
        "a wrong digest": signed(case, fields=wrong_field, algorithm=None, components=cover),
        "a digest of sha-512": signed(case, algorithm="sha-512"),
    }
    if (lost_part := agent.lost_part(subjects["binary content"].message)) is not None:
        del subjects["binary content"]
        untried_trial = f"binary content, since [agent] verify_body cannot carry {lost_part}"
        case.mark_not_applicable("AGENT-EXPLAIN-05", "the agent's body is text", skipped_trial=untried_trial)
    if agent.is_reference or case.profile.claims.specification is not None:
        # By the interface alone an agent may show no digest if the message has none.
        subjects["no digest"] = signed(case, algorithm=None, fields=FIELDS, components=("@method",))
        subjects["no content"] = signed(case, body=b"", components=("@method",))
        if lost_part is None:
            subjects["binary content without a digest"] = signed(
                case, body=bytes(range(256)), algorithm=None, components=("@method",)
            )
    for message_name, subject in subjects.items():
        answer = await agent.explain(subject)
        digests = compute_digests(subject.message.body)
        expected_digests = (
            digests[1:] if "sha-512" in message_name else digests if not agent.is_reference else digests[:1]
        )
        digest = _digest_of(agent, answer, expected_digests)
        holds = digest in expected_digests
        expectation, finding = " or ".join(expected_digests), f"{answer.status}, {digest or 'no digest'}"
        hint = None if agent.is_reference else binding_hints.of_content()
        case.expect(
            "AGENT-EXPLAIN-05", holds, expectation, finding, exchange=answer, where={"message": message_name}, hint=hint
        )


def _digest_of(agent: Agent, answer: Answer, expected_digests: list[str]) -> str | None:
    """Return the digest at the bound place, without its label. Unbound, return an expected one found in any text."""
    # With a bound place only that place counts: the digest may also be in the echoed request.
    place = agent.bindings.digest_at
    if place is not None:
        value = answer_reader.at(answer.read_object(), place)
        if not isinstance(value, str):
            return None
        return value.partition("=:")[2].rstrip(":") if "=:" in value else value
    texts = [text for _, text in answer_reader.texts(answer.read_object()) if '"@signature-params"' not in text]
    return next((digest for digest in expected_digests for text in texts if digest in text), None)


@check(
    "AGENT-EXPLAIN-07",
    RESULT_ROW,
    surface="agent",
    fix="Build the base before you look for a key, and return it in any case.",
)
async def explanations_need_no_key(case: Case) -> None:
    """Without public_key_hex and did_key the signing base is still returned with 200.

    Explains valid and wrong messages without a key. Expects 200 and the base byte for byte. Then explains one without a
    key from which a covered field was removed. Expects 200; the base cannot be complete, so it is not judged. If the
    target claims the specification, expects each member, with the verdict unverified.
    """
    agent = await agent_of(case)
    for message_name, subject in {
        **_usual_subjects(case, agent),
        "another body": signed(case).with_changes(body=b"{}"),
    }.items():
        answer = await agent.explain(subject.with_expected_key(None, "none"))
        base = agent.base(answer)
        where = {"message": message_name}
        requirement = f"200 with the base: {subject.base!r}"
        holds = answer.status == 200 and base == subject.base
        case.expect("AGENT-EXPLAIN-07", holds, requirement, f"{answer.status}, {base!r}", exchange=answer, where=where)
        _judge_unverified(case, agent, answer, where)
        keyless = agent.explain_body(subject.with_expected_key(None, "none"))
        judge_result_members(case, agent, keyless, answer, where, is_explanation=True)
    answer = await agent.explain(signed(case).with_field("Content-Digest", None).with_expected_key(None, "none"))
    where = {"message": "a covered field taken away"}
    case.expect("AGENT-EXPLAIN-07", answer.status == 200, "200", answer.status, exchange=answer, where=where)
    _judge_unverified(case, agent, answer, where)


def _judge_unverified(case: Case, agent: Agent, answer: Answer, where: Mapping[str, str]) -> None:
    """Judge that there is no verdict without a key. Only for the profile's own names."""
    if agent.is_reference:
        requirement, word = "no verdict without a key", describe_verdict(agent, answer)
        case.expect("AGENT-EXPLAIN-07", agent.verdict(answer) is None, requirement, word, exchange=answer, where=where)


@check("AGENT-EXPLAIN-08", "AGENT-EXPLAIN-09", "AGENT-EXPLAIN-10", surface="agent", fix=_FIX)
async def either_form_of_the_key_will_do(case: Case) -> None:
    """public_key_hex alone and did_key alone are each enough for a verdict, and both forms of a key give the same.

    Explains a valid message and two wrong ones with the key in each form. Expects the right verdict from both forms.
    """
    agent = await agent_of(case)
    subject = signed(case)
    other_key = raw_public(signer(case))
    subjects = {
        "sound": (subject, True),
        "another key": (subject.with_expected_key(other_key), False),
        "another body": (subject.with_changes(body=BODY + b" "), False),
    }
    for message_name, (variant, valid) in subjects.items():
        in_hex, in_did = [await agent.explain(replace(variant, form=form)) for form in ("hex", "did")]
        where = {"message": message_name}
        requirement = "pass" if valid else "fail"
        for row, answer in (("AGENT-EXPLAIN-08", in_hex), ("AGENT-EXPLAIN-09", in_did)):
            word = describe_verdict(agent, answer)
            holds = answer.status == 200 and word == requirement
            hint = find_explanation_hint(agent, answer) if valid else None
            case.expect(row, holds, requirement, word, exchange=answer, where=where, hint=hint)
        words = describe_verdict(agent, in_hex), describe_verdict(agent, in_did)
        is_same = in_hex.status == in_did.status == 200 and words[0] == words[1]
        case.expect("AGENT-EXPLAIN-10", is_same, "one verdict", " and ".join(words), exchange=in_did, where=where)


@check("AGENT-EXPLAIN-14", surface="agent", fix="Ignore members that you do not know.")
async def explanations_tolerate_extras(case: Case) -> None:
    """Unknown members in the body of explain are tolerated.

    Explains a valid message with additional members of every type, alone and together. Expects 200, pass and the base.
    """
    agent = await agent_of(case)
    subject = signed(case)
    for extra_members in [{name: value} for name, value in _EXTRAS.items()] + [dict(_EXTRAS)]:
        answer = await agent.explain(subject, **extra_members)
        holds = answer.status == 200 and agent.verdict(answer) is True and agent.base(answer) == subject.base
        where = {"member": next(iter(extra_members)) if len(extra_members) == 1 else "all"}
        finding = f"{answer.status}, {describe_verdict(agent, answer)}"
        hint = find_explanation_hint(agent, answer)
        case.expect("AGENT-EXPLAIN-14", holds, "200, pass, the base", finding, exchange=answer, where=where, hint=hint)
