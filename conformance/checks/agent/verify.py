"""AGENT-VERIFY: fresh messages, each valid or with one change."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import replace

from cryptography.hazmat.primitives.asymmetric import ed25519

from conformance.assertions.agent.verdicts import (
    FIX,
    LINES,
    MAY_DEMAND_MORE,
    TWO_LINES,
    UNUSUAL,
    describe_verdict,
    find_verdict_hint,
    is_negative,
    is_positive,
    judge_verdicts,
    make_sound_subjects,
    replace_signature,
)
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.oracles.message_signatures import keys, signing, structured
from conformance.oracles.message_signatures.algorithms import ED25519, SigningKey
from conformance.surfaces.agent import VERIFY, Agent, Subject, agent_of, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.answer_reader import lists
from conformance.surfaces.agent.subjects import name_signature, raw_public

# `valid` and `errors` are names of the answer: an agent that merges its input into the answer fails here.
_EXTRAS: Mapping[str, object] = {
    "x-unknown": "text",
    "comment": None,
    "nested": {"signature": [1, {"valid": True}]},
    "valid": False,
    "errors": ["none"],
    "": 0,
}


# The first bytes of a did:key of X25519 (those of Ed25519 are 0xed 0x01, P-KY-10).
_X25519_CODE = b"\xec\x01"
# A private key whose public key contains 0xed 0x01. An agent that searches these bytes anywhere in a did:key takes a
# key of any type for Ed25519.
_HOLDS_THE_CODE = (213).to_bytes(32, "big")
_CODE_KEY_NAME = "a key that contains the code of its type"
_TYPE_IS_OPEN = "the interface does not say explicitly that a verifier compares the type of a did:key"

# Seconds. The request may take up to half of the skew to arrive; with a shorter skew the verdict would depend on it.
TELLABLE_SKEW = 10
_HOUR = 3600


@check("AGENT-VERIFY-01", "AGENT-VERIFY-04", "AGENT-VERIFY-05", "AGENT-VERIFY-11", surface="agent", fix=FIX)
async def sound_messages_are_valid(case: Case) -> None:
    """A correctly signed message with the right key gets 200, a positive result, and a list without errors.

    Signs messages of many forms with fresh keys: with and without body, digests, fields, parameters, labels, spellings
    of names. Expects that each is valid, with a list of errors that is present and empty.
    """
    agent = await agent_of(case)
    subjects = make_sound_subjects(case)
    unusual = {message_name: subjects.pop(message_name) for message_name in sorted(UNUSUAL)}
    row = "AGENT-VERIFY-01" if agent.is_reference else "AGENT-VERIFY-11"
    # If the agent misreads an array of lines, only these messages show it. All others are sent with joined lines then.
    as_sent = replace(agent, lines="kept") if agent.lines == "misread" else agent
    two_lines = {TWO_LINES: unusual.pop(TWO_LINES)}
    await judge_verdicts(case, as_sent, row, two_lines, valid=True, beyond=LINES)
    await judge_verdicts(case, as_sent, row, unusual, valid=True, beyond=MAY_DEMAND_MORE)
    if agent.is_reference:
        case.mark_not_applicable("AGENT-VERIFY-11", "the vectors judge it on the reference")
    answers = await judge_verdicts(case, agent, "AGENT-VERIFY-01", subjects, valid=True)
    for message_name, answer in zip(subjects, answers, strict=True):
        _judge_list(case, agent, answer, {"message": message_name}, empty=True)


def _judge_list(case: Case, agent: Agent, answer: Answer, where: Mapping[str, str], *, empty: bool) -> None:
    errors = agent.errors(answer)
    if (
        errors is None
        and not agent.is_reference
        and len(lists(answer.read_object())) > 0
        and agent.bindings.errors_at is None
    ):
        case.mark_inconclusive("AGENT-VERIFY-04", "unbound: which list is that of errors; give [agent] errors_at")
        if empty:
            case.mark_inconclusive("AGENT-VERIFY-05", "unbound: which list is that of errors; give [agent] errors_at")
        return
    case.expect("AGENT-VERIFY-04", errors is not None, "a list of errors", errors, exchange=answer, where=where)
    if empty and is_positive(agent, answer):
        case.expect("AGENT-VERIFY-05", errors == [], "no errors", errors, exchange=answer, where=where)
    elif empty:
        case.mark_inconclusive("AGENT-VERIFY-05", "the message was not valid, which AGENT-VERIFY-01 judges")


def _read_signature(subject: Subject) -> bytes:
    field = subject.message.field("signature") or ""
    return base64.b64decode(field.partition("=:")[2].rstrip(":"))


@check("AGENT-VERIFY-02", "AGENT-VERIFY-04", surface="agent", fix=FIX)
async def wrong_signatures_are_not_valid(case: Case) -> None:
    """A message with a wrong signature gets 200 and a negative result with at least one error.

    Sends signatures with single bits flipped, of another message, with halves exchanged and of zeros. Expects 200, not
    valid, and at least one error each time. Sends an empty signature, and messages without a signature or its input.
    Expects that none is valid.
    """
    agent = await agent_of(case)
    key = signer(case)
    subject = signed(case, key)
    raw = _read_signature(subject)
    # The valid message first: a cached verdict about it must not make a changed signature valid.
    await agent.verify(subject)
    # Bits of both halves: R is in the first 32 bytes of an Ed25519 signature, and S in the last 32.
    wrong_signatures = {f"bit {bit} turned": _flip_bit(raw, bit) for bit in (0, 7, 255, 256, 400, 500)}
    other_signature = _read_signature(signed(case, key, target="/orders/8"))
    wrong_signatures |= {"another message's": other_signature, "halves exchanged": raw[32:] + raw[:32]}
    for text in wrong_signatures.values():
        name_signature(case, text)
    wrong_signatures["zeros"] = bytes(64)
    subjects = {message_name: replace_signature(subject, text) for message_name, text in wrong_signatures.items()}
    answers = await judge_verdicts(case, agent, "AGENT-VERIFY-02", subjects, valid=False)
    for message_name, answer in zip(subjects, answers, strict=True):
        where = {"message": message_name}
        _judge_list(case, agent, answer, where, empty=False)
        errors = agent.errors(answer)
        if errors is not None and is_negative(agent, answer):
            case.expect("AGENT-VERIFY-02", bool(errors), "at least one error", errors, exchange=answer, where=where)
    await _judge_unsigned(case, agent, subject)


async def _judge_unsigned(case: Case, agent: Agent, subject: Subject) -> None:
    """Judge messages without a signature: never valid; whether they are malformed is open (C-08)."""
    bare = subject.with_field("Signature", None)
    subjects = {
        "no Signature": bare,
        "no Signature-Input": subject.with_field("Signature-Input", None),
        "neither header": bare.with_field("Signature-Input", None),
        "an empty signature": replace_signature(subject, b""),
        "no header at all": subject.with_changes(headers=()),
    }
    for message_name, answer in zip(
        subjects, await run_concurrently(map(agent.verify, subjects.values())), strict=True
    ):
        is_open = answer.status == 422 and not agent.is_reference
        holds = is_open or is_negative(agent, answer)
        where = {"message": message_name}
        case.expect(
            "AGENT-VERIFY-02", holds, "not valid", describe_verdict(agent, answer), exchange=answer, where=where
        )


def _flip_bit(raw: bytes, bit: int) -> bytes:
    changed_bytes = bytearray(raw)
    changed_bytes[bit // 8] ^= 1 << bit % 8
    return bytes(changed_bytes)


@check("AGENT-VERIFY-06", "AGENT-VERIFY-07", surface="agent", fix=FIX)
async def the_expected_key_decides(case: Case) -> None:
    """The key that the caller expects decides, and no key that the message names.

    Signs with key A and expects key B, with a keyid that names A by did:key, by hex, or not at all. Expects a negative
    result. Then expects key A with a keyid that names B. Expects a positive result; a refusal only warns.

    If the target takes keys by did:key, sends the signer's bytes as a key of X25519, also those of a key that contains
    the code of Ed25519. Expects a negative result or 422. A positive one only warns, except under the specification's
    own names.
    """
    agent = await agent_of(case)
    owner, other_signer = signer(case), signer(case)
    names = {
        "no keyid": {},
        "keyid is a word": {"keyid": "test-key"},
        "keyid is the signer's did:key": {"keyid": keys.did_key(raw_public(owner))},
        "keyid is the signer's hex": {"keyid": raw_public(owner).hex()},
        "keyid is the signer's base64": {"keyid": base64.b64encode(raw_public(owner)).decode()},
    }
    subjects = {description: signed(case, owner, parameters=found) for description, found in names.items()}
    # The valid ones first: a verdict that is cached by signature alone would then also accept the wrong key.
    await judge_verdicts(case, agent, "AGENT-VERIFY-07", subjects, valid=True, beyond=MAY_DEMAND_MORE)
    wrong_subjects = {
        description: one.with_expected_key(raw_public(other_signer)) for description, one in subjects.items()
    }
    as_did = {
        f"{description}, expected as did:key": one.with_expected_key(raw_public(other_signer), "did")
        for description, one in subjects.items()
    }
    await judge_verdicts(case, agent, "AGENT-VERIFY-06", wrong_subjects | as_did, valid=False)
    named_subjects = {
        description: one for description, one in wrong_subjects.items() if description.startswith("keyid is the")
    }
    await judge_verdicts(case, agent, "AGENT-VERIFY-07", named_subjects, valid=False)
    other_keyids = {
        "keyid is another's did:key": {"keyid": keys.did_key(raw_public(other_signer))},
        "keyid is another's hex": {"keyid": raw_public(other_signer).hex()},
        "keyid is an address": {"keyid": "http://127.0.0.1:1/key"},
    }
    right_subjects = {description: signed(case, owner, parameters=found) for description, found in other_keyids.items()}
    code_key = SigningKey((ED25519,), ed25519.Ed25519PrivateKey.from_private_bytes(_HOLDS_THE_CODE))
    right_subjects[_CODE_KEY_NAME] = signed(case, code_key)
    await judge_verdicts(case, agent, "AGENT-VERIFY-07", right_subjects, valid=True, beyond=MAY_DEMAND_MORE)
    for description, one in (
        ("the signer's bytes", subjects["no keyid"]),
        ("bytes with the code of Ed25519", right_subjects[_CODE_KEY_NAME]),
    ):
        await _expect_another_type(case, agent, description, one)


async def _expect_another_type(case: Case, agent: Agent, description: str, subject: Subject) -> None:
    """Judge a did:key of another type with the signer's bytes: no Ed25519 signature is by such a key."""
    if subject.key is None:
        return
    own_did_key, other_did_key = keys.did_key(subject.key), keys.did_key(subject.key, _X25519_CODE)
    body = agent.verify_body(subject.with_expected_key(subject.key, "did"))
    changed_body = json.loads(json.dumps(body).replace(own_did_key, other_did_key))
    if changed_body == body:
        return  # this agent's bodies have no did:key
    answer = await agent.call("POST", VERIFY, json_body=changed_body)
    requirement, finding = "422, or 200, not valid", describe_verdict(agent, answer)
    where = {"message": f"{description}, expected as a did:key of X25519"}
    beyond = None if agent.is_reference else _TYPE_IS_OPEN
    holds = not is_positive(agent, answer)
    case.expect("AGENT-VERIFY-06", holds, requirement, finding, exchange=answer, where=where, beyond=beyond)


@check("AGENT-VERIFY-01", "AGENT-VERIFY-11", surface="agent", fix="Allow clocks to differ by the skew, and no more.")
async def clocks_may_differ_by_the_skew(case: Case) -> None:
    """A signature made or expired within the skew is valid, one beyond it is not.

    Signs with `created` ahead of now, and with `expires` behind it, by half the bound skew, and by twice as much and a
    minute more. Expects the first to be valid, and the second not. Without a bound skew nothing is tested, and with one
    under ten seconds only the second.
    """
    agent = await agent_of(case)
    skew = agent.bindings.skew
    if skew is None:
        for row in ("AGENT-VERIFY-01", "AGENT-VERIFY-11"):
            case.mark_not_applicable(row, "no skew is bound: give [agent] skew")
        return
    now = int(time.time())
    within_seconds, beyond_seconds = skew // 2, 2 * skew + 60
    if skew >= TELLABLE_SKEW:
        subjects_within = {
            "created ahead": _sign_at(case, created=now + within_seconds),
            "expired": _sign_at(case, expires=now - within_seconds),
        }
        await judge_verdicts(case, agent, "AGENT-VERIFY-01", subjects_within, valid=True)
    else:
        case.mark_not_applicable(
            "AGENT-VERIFY-01", "the skew is too short to be distinguished from the time that a call takes"
        )
    subjects_beyond = {
        "created ahead": _sign_at(case, created=now + beyond_seconds),
        "expired": _sign_at(case, expires=now - beyond_seconds),
    }
    await judge_verdicts(case, agent, "AGENT-VERIFY-11", subjects_beyond, valid=False)


@check(
    "AGENT-VERIFY-01",
    "AGENT-VERIFY-11",
    surface="agent",
    fix="Judge the age by created alone. With max_age_seconds, a signature without created is too old.",
)
async def only_created_shows_the_age(case: Case) -> None:
    """A signature without `created` is too old if the request limits its age, whatever other parameters it has.

    Requests a message signed now with `max_age_seconds`. Expects it to be valid. Then requests messages without
    `created`: without any time, with an `expires` ahead, and with every other parameter. Expects that none is valid.
    Targets with other names than the profile's are not tested.
    """
    agent = await agent_of(case)
    if not agent.is_reference:
        for row in ("AGENT-VERIFY-01", "AGENT-VERIFY-11"):
            case.mark_not_applicable(row, "the interface names no member that limits the age of a signature")
        return
    fresh = await agent.verify(signed(case), max_age_seconds=_HOUR)
    requirement, finding = "200, valid", describe_verdict(agent, fresh)
    where = {"message": "signed now, with max_age_seconds"}
    case.expect("AGENT-VERIFY-01", is_positive(agent, fresh), requirement, finding, exchange=fresh, where=where)
    later_time = int(time.time()) + _HOUR
    case.client.names.name(str(later_time), "EXPIRES")
    ageless_parameters: Mapping[str, Mapping[str, structured.BareItem]] = {
        "no time": {},
        "expires": {"expires": later_time},
        "every other parameter": {
            "expires": later_time,
            "nonce": "n0nce",
            "alg": ED25519,
            "keyid": "key-1",
            "tag": "order",
        },
    }
    for parameter_name, parameters in ageless_parameters.items():
        answer = await agent.verify(_sign_without_created(case, parameters), max_age_seconds=_HOUR)
        finding, negative = describe_verdict(agent, answer), is_negative(agent, answer)
        where = {"message": f"without created, with {parameter_name}", "asked": "max_age_seconds"}
        case.expect("AGENT-VERIFY-11", negative, "200, not valid", finding, exchange=answer, where=where)


def _sign_without_created(case: Case, parameters: Mapping[str, structured.BareItem]) -> Subject:
    """Return a valid message whose signature has these parameters and no `created`."""
    key = signer(case)
    subject = signed(case, key)
    unsigned_message = subject.with_field("Signature", None).with_field("Signature-Input", None).message
    signed_message = signing.sign(unsigned_message, key, signing.default_components(unsigned_message), parameters)
    name_signature(case, signed_message.signature)
    return Subject(signed_message.message, raw_public(key))


def _sign_at(case: Case, **times: int) -> Subject:
    for name, value in times.items():
        case.client.names.name(str(value), name.upper())
    return signed(case, parameters=dict(times))


@check("AGENT-VERIFY-18", "AGENT-VERIFY-19", surface="agent", fix="Ignore members that you do not know; keep no state.")
async def extras_and_repeats_change_nothing(case: Case) -> None:
    """Unknown members in the body are tolerated, and the same request gives the same result on repeat.

    Verifies a valid message and a wrong one with additional members of every type, alone and together. Then verifies
    both several times in turn. Expects the verdict of the plain request each time.
    """
    agent = await agent_of(case)
    subject = signed(case)
    wrong_subject = subject.with_expected_key(raw_public(signer(case)))
    for valid, variant in ((True, subject), (False, wrong_subject)):
        bodies = [{name: value} for name, value in _EXTRAS.items()] + [dict(_EXTRAS)]
        answers = await run_concurrently(agent.verify(variant, **extra_members) for extra_members in bodies)
        for extra_members, answer in zip(bodies, answers, strict=True):
            holds = is_positive(agent, answer) if valid else is_negative(agent, answer)
            where = {
                "member": next(iter(extra_members)) if len(extra_members) == 1 else "all",
                "message": "sound" if valid else "wrong",
            }
            requirement = f"200, {'valid' if valid else 'not valid'}"
            finding, hint = describe_verdict(agent, answer), find_verdict_hint(agent, answer) if valid else None
            case.expect("AGENT-VERIFY-18", holds, requirement, finding, exchange=answer, where=where, hint=hint)
    # New messages, because an agent that keeps a state would already have that of the messages above.
    new_subject = signed(case)
    await _judge_repeats(case, agent, new_subject, new_subject.with_expected_key(raw_public(signer(case))))


async def _judge_repeats(case: Case, agent: Agent, subject: Subject, wrong_subject: Subject) -> None:
    first_answers = {id(variant): await agent.verify(variant) for variant in (subject, wrong_subject)}
    for variant in (subject, wrong_subject, wrong_subject, subject, subject, wrong_subject):
        answer = await agent.verify(variant)
        before = describe_verdict(agent, first_answers[id(variant)])
        now = describe_verdict(agent, answer)
        where = {"message": "sound" if variant is subject else "wrong"}
        case.expect("AGENT-VERIFY-19", now == before, before, now, exchange=answer, where=where)
