"""AGENT-VERIFY: fresh messages, each valid or with one change."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import replace

from cryptography.hazmat.primitives.asymmetric import ed25519

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.http.client import Answer
from conformance.judging.agent.verdicts import (
    FIX,
    MAY_DEMAND_MORE,
    UNUSUAL,
    is_negative,
    is_positive,
    judge_verdicts,
    sound_subjects,
    verdict_hint,
    verdict_of,
    with_signature,
)
from conformance.oracles.message_signatures import keys, signing, structured
from conformance.oracles.message_signatures.algorithms import ED25519, SigningKey
from conformance.surfaces.agent import VERIFY, Agent, Subject, agent_of, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.answers import lists
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
_ODD = "a key that contains the code of its type"
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
    subjects = sound_subjects(case)
    unusual = {what: subjects.pop(what) for what in sorted(UNUSUAL)}
    row = "AGENT-VERIFY-01" if agent.is_reference else "AGENT-VERIFY-11"
    # If the agent misreads an array of lines, only these messages show it. All others are sent with joined lines then.
    as_sent = replace(agent, lines="kept") if agent.lines == "misread" else agent
    await judge_verdicts(case, as_sent, row, unusual, valid=True, beyond=MAY_DEMAND_MORE)
    if agent.is_reference:
        case.mark_not_applicable("AGENT-VERIFY-11", "the vectors judge it on the reference")
    answers = await judge_verdicts(case, agent, "AGENT-VERIFY-01", subjects, valid=True)
    for what, answer in zip(subjects, answers, strict=True):
        _judge_list(case, agent, answer, {"message": what}, empty=True)


def _judge_list(case: Case, agent: Agent, answer: Answer, where: Mapping[str, str], *, empty: bool) -> None:
    listed = agent.errors(answer)
    if listed is None and not agent.is_reference and len(lists(answer.object())) > 0 and agent.bindings.errors_at is None:
        case.mark_inconclusive("AGENT-VERIFY-04", "unbound: which list is that of errors; give [agent] errors_at")
        if empty:
            case.mark_inconclusive("AGENT-VERIFY-05", "unbound: which list is that of errors; give [agent] errors_at")
        return
    case.expect("AGENT-VERIFY-04", listed is not None, "a list of errors", listed, exchange=answer, where=where)
    if empty and is_positive(agent, answer):
        case.expect("AGENT-VERIFY-05", listed == [], "no errors", listed, exchange=answer, where=where)
    elif empty:
        case.mark_inconclusive("AGENT-VERIFY-05", "the message was not valid, which AGENT-VERIFY-01 judges")


def _signature(one: Subject) -> bytes:
    field = one.message.field("signature") or ""
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
    one = signed(case, key)
    raw = _signature(one)
    # The valid message first: a cached verdict about it must not make a changed signature valid.
    await agent.verify(one)
    wrong = {f"bit {bit} turned": _turned(raw, bit) for bit in (0, 7, 255, 256, 400, 500)}
    other = _signature(signed(case, key, target="/orders/8"))
    wrong |= {"another message's": other, "halves exchanged": raw[32:] + raw[:32]}
    for text in wrong.values():
        name_signature(case, text)
    wrong["zeros"] = bytes(64)
    subjects = {what: with_signature(one, text) for what, text in wrong.items()}
    answers = await judge_verdicts(case, agent, "AGENT-VERIFY-02", subjects, valid=False)
    for what, answer in zip(subjects, answers, strict=True):
        where = {"message": what}
        _judge_list(case, agent, answer, where, empty=False)
        listed = agent.errors(answer)
        if listed is not None and is_negative(agent, answer):
            case.expect("AGENT-VERIFY-02", bool(listed), "at least one error", listed, exchange=answer, where=where)
    await _unsigned(case, agent, one)


async def _unsigned(case: Case, agent: Agent, one: Subject) -> None:
    """Judge messages without a signature: never valid; whether they are malformed is open (C-08)."""
    bare = one.with_field("Signature", None)
    subjects = {
        "no Signature": bare,
        "no Signature-Input": one.with_field("Signature-Input", None),
        "neither header": bare.with_field("Signature-Input", None),
        "an empty signature": with_signature(one, b""),
        "no header at all": one.with_changes(headers=()),
    }
    for what, answer in zip(subjects, await run_concurrently(map(agent.verify, subjects.values())), strict=True):
        grey = answer.status == 422 and not agent.is_reference
        holds = grey or is_negative(agent, answer)
        where = {"message": what}
        case.expect("AGENT-VERIFY-02", holds, "not valid", verdict_of(agent, answer), exchange=answer, where=where)


def _turned(raw: bytes, bit: int) -> bytes:
    changed = bytearray(raw)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


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
    owner, other = signer(case), signer(case)
    names = {
        "no keyid": {},
        "keyid is a word": {"keyid": "test-key"},
        "keyid is the signer's did:key": {"keyid": keys.did_key(raw_public(owner))},
        "keyid is the signer's hex": {"keyid": raw_public(owner).hex()},
        "keyid is the signer's base64": {"keyid": base64.b64encode(raw_public(owner)).decode()},
    }
    made = {what: signed(case, owner, parameters=found) for what, found in names.items()}
    # The valid ones first: a verdict that is cached by signature alone would then also accept the wrong key.
    await judge_verdicts(case, agent, "AGENT-VERIFY-07", made, valid=True, beyond=MAY_DEMAND_MORE)
    wrong = {what: one.with_expected_key(raw_public(other)) for what, one in made.items()}
    as_did = {f"{what}, expected as did:key": one.with_expected_key(raw_public(other), "did") for what, one in made.items()}
    await judge_verdicts(case, agent, "AGENT-VERIFY-06", wrong | as_did, valid=False)
    named = {what: one for what, one in wrong.items() if what.startswith("keyid is the")}
    await judge_verdicts(case, agent, "AGENT-VERIFY-07", named, valid=False)
    elsewhere = {
        "keyid is another's did:key": {"keyid": keys.did_key(raw_public(other))},
        "keyid is another's hex": {"keyid": raw_public(other).hex()},
        "keyid is an address": {"keyid": "http://127.0.0.1:1/key"},
    }
    right = {what: signed(case, owner, parameters=found) for what, found in elsewhere.items()}
    odd = SigningKey((ED25519,), ed25519.Ed25519PrivateKey.from_private_bytes(_HOLDS_THE_CODE))
    right[_ODD] = signed(case, odd)
    await judge_verdicts(case, agent, "AGENT-VERIFY-07", right, valid=True, beyond=MAY_DEMAND_MORE)
    for what, one in ("the signer's bytes", made["no keyid"]), ("bytes with the code of Ed25519", right[_ODD]):
        await _expect_another_type(case, agent, what, one)


async def _expect_another_type(case: Case, agent: Agent, what: str, one: Subject) -> None:
    """Judge a did:key of another type with the signer's bytes: no Ed25519 signature is by such a key."""
    if one.key is None:
        return
    right, other = keys.did_key(one.key), keys.did_key(one.key, _X25519_CODE)
    body = agent.verify_body(one.with_expected_key(one.key, "did"))
    changed = json.loads(json.dumps(body).replace(right, other))
    if changed == body:
        return  # this agent's bodies have no did:key
    answer = await agent.call("POST", VERIFY, json_body=changed)
    told, found = "422, or 200, not valid", verdict_of(agent, answer)
    where = {"message": f"{what}, expected as a did:key of X25519"}
    beyond = None if agent.is_reference else _TYPE_IS_OPEN
    holds = not is_positive(agent, answer)
    case.expect("AGENT-VERIFY-06", holds, told, found, exchange=answer, where=where, beyond=beyond)


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
    little, much = skew // 2, 2 * skew + 60
    if skew >= TELLABLE_SKEW:
        within = {"created ahead": _timed(case, created=now + little), "expired": _timed(case, expires=now - little)}
        await judge_verdicts(case, agent, "AGENT-VERIFY-01", within, valid=True)
    else:
        case.mark_not_applicable(
            "AGENT-VERIFY-01", "the skew is too short to be distinguished from the time that a call takes"
        )
    beyond = {"created ahead": _timed(case, created=now + much), "expired": _timed(case, expires=now - much)}
    await judge_verdicts(case, agent, "AGENT-VERIFY-11", beyond, valid=False)


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
    told, found = "200, valid", verdict_of(agent, fresh)
    where = {"message": "signed now, with max_age_seconds"}
    case.expect("AGENT-VERIFY-01", is_positive(agent, fresh), told, found, exchange=fresh, where=where)
    ahead = int(time.time()) + _HOUR
    case.client.names.name(str(ahead), "EXPIRES")
    ageless: Mapping[str, Mapping[str, structured.BareItem]] = {
        "no time": {},
        "expires": {"expires": ahead},
        "every other parameter": {"expires": ahead, "nonce": "n0nce", "alg": ED25519, "keyid": "key-1", "tag": "order"},
    }
    for what, parameters in ageless.items():
        answer = await agent.verify(_ageless(case, parameters), max_age_seconds=_HOUR)
        found, negative = verdict_of(agent, answer), is_negative(agent, answer)
        where = {"message": f"without created, with {what}", "asked": "max_age_seconds"}
        case.expect("AGENT-VERIFY-11", negative, "200, not valid", found, exchange=answer, where=where)


def _ageless(case: Case, parameters: Mapping[str, structured.BareItem]) -> Subject:
    """Return a valid message whose signature has these parameters and no `created`."""
    key = signer(case)
    one = signed(case, key)
    bare = one.with_field("Signature", None).with_field("Signature-Input", None).message
    made = signing.sign(bare, key, signing.default_components(bare), parameters)
    name_signature(case, made.signature)
    return Subject(made.message, raw_public(key))


def _timed(case: Case, **times: int) -> Subject:
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
    one = signed(case)
    wrong = one.with_expected_key(raw_public(signer(case)))
    for valid, each in ((True, one), (False, wrong)):
        bodies = [{name: value} for name, value in _EXTRAS.items()] + [dict(_EXTRAS)]
        answers = await run_concurrently(agent.verify(each, **more) for more in bodies)
        for more, answer in zip(bodies, answers, strict=True):
            holds = is_positive(agent, answer) if valid else is_negative(agent, answer)
            where = {"member": next(iter(more)) if len(more) == 1 else "all", "message": "sound" if valid else "wrong"}
            told = f"200, {'valid' if valid else 'not valid'}"
            found, hint = verdict_of(agent, answer), verdict_hint(agent, answer) if valid else None
            case.expect("AGENT-VERIFY-18", holds, told, found, exchange=answer, where=where, hint=hint)
    # New messages, because an agent that keeps a state would already have that of the messages above.
    again = signed(case)
    await _repeat(case, agent, again, again.with_expected_key(raw_public(signer(case))))


async def _repeat(case: Case, agent: Agent, one: Subject, wrong: Subject) -> None:
    first = {id(each): await agent.verify(each) for each in (one, wrong)}
    for each in (one, wrong, wrong, one, one, wrong):
        answer = await agent.verify(each)
        before = verdict_of(agent, first[id(each)])
        now = verdict_of(agent, answer)
        where = {"message": "sound" if each is one else "wrong"}
        case.expect("AGENT-VERIFY-19", now == before, before, now, exchange=answer, where=where)
