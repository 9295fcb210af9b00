"""The agent's verdict on a signed message, and whether it is the right one."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace

from conformance.engine.check import Case
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.outcome import OpenPoint
from conformance.surfaces import binding_hints
from conformance.surfaces.agent import Agent, Subject, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import FIELDS

FIX = (
    "Rebuild the signature base from the message of the request, in the order of Signature-Input. Verify it with "
    "the key of the request only, and compare Content-Digest with the content."
)


def describe_verdict(agent: Agent, answer: Answer) -> str:
    """Return status, verdict and errors of an answer in words."""
    word = {True: "valid", False: "not valid", None: "nothing about validity"}[agent.validity(answer)]
    errors = agent.errors(answer)
    return f"{answer.status}, {word}, {'no list of errors' if errors is None else f'errors {errors}'}"


def is_positive(agent: Agent, answer: Answer) -> bool:
    """Return whether an answer is 200 with the verdict valid."""
    return answer.status == 200 and agent.validity(answer) is True


def is_negative(agent: Agent, answer: Answer) -> bool:
    """Return whether an answer is 200 with the verdict not valid."""
    return answer.status == 200 and agent.validity(answer) is False


async def judge_verdicts(
    case: Case, agent: Agent, row: str, subjects: Mapping[str, Subject], *, valid: bool, beyond: str | None = None
) -> list[Answer]:
    """Verify each subject and judge the verdict under a row; return the answers in order.

    `beyond` is the point that the interface leaves open (`Case.expect`). The reference's own profile settles it.
    """
    # Concurrently, because a verifier must not let one message's verdict reach another's answer.
    answers = await run_concurrently(agent.verify(one) for one in subjects.values())
    for message_name, answer in zip(subjects, answers, strict=True):
        holds = is_positive(agent, answer) if valid else is_negative(agent, answer)
        requirement = "200, valid" if valid else "200, not valid"
        where = {"message": message_name}
        open_point = None if agent.is_reference else beyond
        hint = find_verdict_hint(agent, answer) if valid else None
        case.expect(
            row,
            holds,
            requirement,
            describe_verdict(agent, answer),
            exchange=answer,
            where=where,
            beyond=open_point,
            hint=hint,
        )
    return answers


def find_verdict_hint(agent: Agent, answer: Answer) -> str | None:
    """Return the likely wrong binding if a valid message was not found valid; None on the reference."""
    return None if agent.is_reference else binding_hints.of_sound_message(answer.status, agent.validity(answer))


def find_explanation_hint(agent: Agent, answer: Answer) -> str | None:
    """Return the likely wrong binding if a valid message was explained as invalid; None on the reference."""
    if agent.is_reference or (answer.status == 200 and agent.verdict(answer) is not False):
        return None
    return binding_hints.of_sound_message(answer.status, False)


# Messages that are valid by the RFC. A target may still refuse them by a stricter policy, or for a component that it
# does not know, so a refusal only warns, except for the reference.
MAY_DEMAND_MORE = "a verifier may require more of a signature than its validity, or know fewer components"

TWO_LINES = "a field of two lines"
LINES = OpenPoint("whether headers takes a list of field lines is open", "6.2")
UNUSUAL = frozenset({"every derived part of the target", "one component", TWO_LINES, "an authority in capitals"})


def make_sound_subjects(case: Case) -> dict[str, Subject]:
    """Return valid messages, each in another form, under separate keys."""
    plain_components = ("@method", "@authority", "@path")
    key = signer(case)
    all_parameters = {"keyid": "a", "alg": "ed25519", "nonce": "b64u-_", "tag": "weldproof-suite"}
    all_components = ("date", "@method", "@path", "@query", "@authority", "content-type", "content-digest")
    two_lines = (*FIELDS, ("X-List", " a, b "), ("X-List", "c"))
    usual_message = signed(case, key)
    return {
        "a body with its digest": usual_message,
        "the same key as did:key": replace(usual_message, form="did"),
        "no body": signed(case, method="GET", body=b"", components=plain_components),
        "a digest of sha-512": signed(case, algorithm="sha-512"),
        "fields among the components": signed(case, components=all_components),
        "every derived part of the target": signed(
            case, components=("@method", "@target-uri", "@scheme", "@request-target", "content-digest")
        ),
        "one component": signed(case, method="GET", body=b"", components=("@method",)),
        TWO_LINES: signed(case, method="GET", body=b"", fields=two_lines, components=("x-list", "@method")),
        "all parameters": signed(case, parameters=all_parameters),
        "another label": signed(case, label="my-sig_2"),
        "field names in capitals": _rename_fields(signed(case), str.upper),
        "field names in lower case": _rename_fields(signed(case), str.lower),
        # The host is case-insensitive, and RFC 9421 (2.2.3) signs it in lower case.
        "an authority in capitals": _capitalize_authority(case),
        "a root path": signed(case, method="GET", body=b"", target="/", components=plain_components),
    }


def _rename_fields(subject: Subject, spelling: object) -> Subject:
    change = spelling if callable(spelling) else str
    return subject.with_changes(headers=tuple((str(change(name)), value) for name, value in subject.message.headers))


def _capitalize_authority(case: Case) -> Subject:
    return signed(case, authority="api.example.org").with_changes(authority="API.Example.ORG")


def replace_signature(subject: Subject, raw: bytes) -> Subject:
    """Return a subject with other bytes as its signature."""
    return subject.with_field("Signature", f"sig1=:{base64.b64encode(raw).decode()}:")
