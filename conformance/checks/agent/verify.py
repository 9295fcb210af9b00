"""AGENT-VERIFY: fresh messages, one changed at a time."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from conformance.agent import Agent, Subject, agent_of, signer
from conformance.agent import subject as signed
from conformance.agent.answers import lists
from conformance.agent.subjects import BODY, FIELDS, TARGET, name_signature, raw_public
from conformance.check import Case, check
from conformance.client import Answer
from conformance.oracles.message_signatures import keys
from conformance.oracles.message_signatures.components import Component
from conformance.oracles.message_signatures.digests import digest_value
from conformance.together import together

_FIX = (
    "Rebuild the signature base from the message of the request, in the order of Signature-Input, and verify it with "
    "the key of the request and no other; compare Content-Digest with the content."
)
_EXTRAS: Mapping[str, object] = {
    "x-unknown": "text",
    "comment": None,
    "nested": {"signature": [1, {"valid": True}]},
    "valid": False,
    "errors": ["none"],
    "": 0,
}


def said(agent: Agent, answer: Answer) -> str:
    """Return status, verdict and errors of an answer, for a reader."""
    word = {True: "valid", False: "not valid", None: "nothing about validity"}[agent.validity(answer)]
    return f"{answer.status}, {word}, errors {agent.errors(answer)}"


def is_positive(agent: Agent, answer: Answer) -> bool:
    """Return whether an answer is 200 and says that the message is valid."""
    return answer.status == 200 and agent.validity(answer) is True


def is_negative(agent: Agent, answer: Answer) -> bool:
    """Return whether an answer is 200 and says that the message is not valid."""
    return answer.status == 200 and agent.validity(answer) is False


async def _judge(case: Case, agent: Agent, row: str, subjects: Mapping[str, Subject], *, valid: bool) -> list[Answer]:
    """Verify each subject and judge the verdict under a row; return the answers in order."""
    answers = await together(agent.verify(one) for one in subjects.values())
    for what, answer in zip(subjects, answers, strict=True):
        holds = is_positive(agent, answer) if valid else is_negative(agent, answer)
        told = "200, valid" if valid else "200, not valid"
        case.expect(row, holds, told, said(agent, answer), exchange=answer, where={"message": what})
    return answers


def sound_subjects(case: Case) -> dict[str, Subject]:
    """Return messages that hold, each of another form, under keys of their own."""
    plain = ("@method", "@authority", "@path")
    key = signer(case)
    long = {"keyid": "a", "alg": "ed25519", "nonce": "b64u-_", "tag": "weldproof-suite"}
    everything = ("date", "@method", "@path", "@query", "@authority", "content-type", "content-digest")
    two = (*FIELDS, ("X-List", " a, b "), ("X-List", "c"))
    usual = signed(case, key)
    return {
        "a body with its digest": usual,
        "the same key as did:key": replace(usual, form="did"),
        "no body": signed(case, method="GET", body=b"", components=plain),
        "a digest of sha-512": signed(case, algorithm="sha-512"),
        "fields among the components": signed(case, components=everything),
        "every derived part of the target": signed(
            case, components=("@method", "@target-uri", "@scheme", "@request-target", "content-digest")
        ),
        "one component": signed(case, method="GET", body=b"", components=("@method",)),
        "a field of two lines": signed(case, method="GET", body=b"", fields=two, components=("x-list", "@method")),
        "all parameters": signed(case, parameters=long),
        "another label": signed(case, label="my-sig_2"),
        "field names in capitals": _renamed(signed(case), str.upper),
        "field names in lower case": _renamed(signed(case), str.lower),
        "an authority in capitals": _capital_authority(case),
        "a root path": signed(case, method="GET", body=b"", target="/", components=plain),
    }


def _renamed(one: Subject, spelled: object) -> Subject:
    change = spelled if callable(spelled) else str
    return one.changed(headers=tuple((str(change(name)), value) for name, value in one.message.headers))


def _capital_authority(case: Case) -> Subject:
    return signed(case, authority="api.example.org").changed(authority="API.Example.ORG")


@check("AGENT-VERIFY-01", "AGENT-VERIFY-04", "AGENT-VERIFY-05", surface="agent", fix=_FIX)
async def sound_messages_are_valid(case: Case) -> None:
    """A correctly signed message with the right key gets 200, a positive result, and a list without errors.

    Signs messages of many forms with fresh keys: with and without body, digests, fields, parameters, labels, spellings
    of names. Expects each to be valid, under a list of errors that is there and empty.
    """
    agent = await agent_of(case)
    subjects = sound_subjects(case)
    answers = await _judge(case, agent, "AGENT-VERIFY-01", subjects, valid=True)
    for what, answer in zip(subjects, answers, strict=True):
        _judge_list(case, agent, answer, {"message": what}, empty=True)


def _judge_list(case: Case, agent: Agent, answer: Answer, where: Mapping[str, str], *, empty: bool) -> None:
    listed = agent.errors(answer)
    if listed is None and not agent.ours and len(lists(answer.object())) > 0 and agent.bindings.errors_at is None:
        case.inconclusive("AGENT-VERIFY-04", "unbound: which list is that of errors; give [agent] errors_at")
        if empty:
            case.inconclusive("AGENT-VERIFY-05", "unbound: which list is that of errors; give [agent] errors_at")
        return
    case.expect("AGENT-VERIFY-04", listed is not None, "a list of errors", listed, exchange=answer, where=where)
    if empty and is_positive(agent, answer):
        case.expect("AGENT-VERIFY-05", listed == [], "no errors", listed, exchange=answer, where=where)
    elif empty:
        case.inconclusive("AGENT-VERIFY-05", "the message was not valid, which AGENT-VERIFY-01 judges")


def _with_signature(one: Subject, raw: bytes) -> Subject:
    return one.with_field("Signature", f"sig1=:{base64.b64encode(raw).decode()}:")


def _signature(one: Subject) -> bytes:
    field = one.message.field("signature") or ""
    return base64.b64decode(field.partition("=:")[2].rstrip(":"))


@check("AGENT-VERIFY-02", "AGENT-VERIFY-04", surface="agent", fix=_FIX)
async def wrong_signatures_are_not_valid(case: Case) -> None:
    """A message with a wrong signature gets 200 and a negative result with at least one error.

    Sends signatures with single bits turned, of another message, of zeros, cut and lengthened. Expects 200, not valid,
    and at least one error each time.
    """
    agent = await agent_of(case)
    key = signer(case)
    one = signed(case, key)
    raw = _signature(one)
    # First as it is: nothing that was learnt from a signature that holds may help one that does not.
    await agent.verify(one)
    wrong = {f"bit {bit} turned": _turned(raw, bit) for bit in (0, 7, 255, 256, 400, 500)}
    other = _signature(signed(case, key, target="/orders/8"))
    wrong |= {"another message's": other, "halves exchanged": raw[32:] + raw[:32]}
    for text in wrong.values():
        name_signature(case, text)
    wrong["zeros"] = bytes(64)
    subjects = {what: _with_signature(one, text) for what, text in wrong.items()}
    answers = await _judge(case, agent, "AGENT-VERIFY-02", subjects, valid=False)
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
        "an empty signature": _with_signature(one, b""),
        "no header at all": one.changed(headers=()),
    }
    for what, answer in zip(subjects, await together(map(agent.verify, subjects.values())), strict=True):
        grey = answer.status == 422 and not agent.ours
        holds = grey or is_negative(agent, answer)
        where = {"message": what}
        case.expect("AGENT-VERIFY-02", holds, "not valid", said(agent, answer), exchange=answer, where=where)


def _turned(raw: bytes, bit: int) -> bytes:
    changed = bytearray(raw)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@check("AGENT-VERIFY-06", "AGENT-VERIFY-07", surface="agent", fix=_FIX)
async def the_expected_key_decides(case: Case) -> None:
    """The key that the caller expects decides, and none that the message names.

    Signs with key A and expects key B, with keyid naming A by did:key, by hex, or not at all; and expects A where keyid
    names B. Expects the first not to be valid, the second to be.
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
    # First the verdicts that hold, so that nothing remembered of a signature can pass for a verdict.
    await _judge(case, agent, "AGENT-VERIFY-07", made, valid=True)
    wrong = {what: one.expecting(raw_public(other)) for what, one in made.items()}
    as_did = {f"{what}, expected as did:key": one.expecting(raw_public(other), "did") for what, one in made.items()}
    await _judge(case, agent, "AGENT-VERIFY-06", wrong | as_did, valid=False)
    named = {what: one for what, one in wrong.items() if what.startswith("keyid is the")}
    await _judge(case, agent, "AGENT-VERIFY-07", named, valid=False)
    elsewhere = {
        "keyid is another's did:key": {"keyid": keys.did_key(raw_public(other))},
        "keyid is another's hex": {"keyid": raw_public(other).hex()},
        "keyid is an address": {"keyid": "http://127.0.0.1:1/key"},
    }
    right = {what: signed(case, owner, parameters=found) for what, found in elsewhere.items()}
    await _judge(case, agent, "AGENT-VERIFY-07", right, valid=True)


@check("AGENT-VERIFY-08", "AGENT-VERIFY-09", surface="agent", fix=_FIX)
async def only_what_is_covered_counts(case: Case) -> None:
    """A changed method, path, query, authority or covered field makes the result negative; an uncovered one does not.

    Signs one message over all of these and changes one after the signing, in several ways. Expects it not to be valid;
    and to stay valid when an uncovered field is changed, added or taken away.
    """
    agent = await agent_of(case)
    cover = ("@method", "@authority", "@path", "@query", "content-type", "x-list", "content-digest")
    fields = (*FIELDS, ("X-List", "a"), ("X-List", "b"))
    one = signed(case, fields=fields, components=cover)
    changes = {
        "method": one.changed(method="PUT"),
        "method in lower case": one.changed(method="post"),
        "authority": one.changed(authority="api.example.com"),
        "authority with a port": one.changed(authority="api.example.org:8443"),
        "path": one.changed(target=TARGET.replace("/7", "/8")),
        "path in capitals": one.changed(target=TARGET.replace("orders", "Orders")),
        "path with a slash at its end": one.changed(target=TARGET.replace("?", "/?")),
        "query": one.changed(target=TARGET.replace("page=2", "page=3")),
        "query left out": one.changed(target=TARGET.partition("?")[0]),
        "query in another order": one.changed(target="/orders/7?page=2&expand=items"),
        "a covered field": one.with_field("Content-Type", "text/plain"),
        "a covered field's second line": one.with_field("X-List", "a"),
        "a covered field's lines exchanged": _exchanged(one),
        "a covered field's letter case": one.with_field("Content-Type", "Application/JSON"),
    }
    await _judge(case, agent, "AGENT-VERIFY-09", {"nothing": one}, valid=True)
    await _judge(case, agent, "AGENT-VERIFY-08", changes, valid=False)
    await _judge(case, agent, "AGENT-VERIFY-09", _uncovered(case), valid=True)


def _exchanged(one: Subject) -> Subject:
    kept = tuple(pair for pair in one.message.headers if pair[0] != "X-List")
    return one.changed(headers=(*kept, ("X-List", "b"), ("X-List", "a")))


def _uncovered(case: Case) -> dict[str, Subject]:
    one = signed(case, components=("@method", "@authority", "@path", "content-digest"))
    return {
        "Accept changed": one.with_field("Accept", "text/html"),
        "Date taken away": one.with_field("Date", None),
        "a field added": one.with_field("X-Forwarded-For", "192.0.2.7"),
        "the query changed": one.changed(target="/orders/7?page=9"),
    }


@check("AGENT-VERIFY-10", surface="agent", fix="Compare the content with every digest that Content-Digest gives.")
async def the_content_is_compared(case: Case) -> None:
    """A body that does not match a covered Content-Digest makes the result negative.

    Signs messages with a digest of sha-256, sha-512 and both, and changes the body afterwards, also to nothing; and
    signs digests of another body. Expects each not to be valid.
    """
    agent = await agent_of(case)
    subjects: dict[str, Subject] = {}
    for algorithm in ("sha-256", "sha-512"):
        one = signed(case, algorithm=algorithm)
        await agent.verify(one)
        subjects |= {
            f"{algorithm}, another body": one.changed(body=BODY.replace(b"7", b"8")),
            f"{algorithm}, one byte more": one.changed(body=BODY + b"\n"),
            f"{algorithm}, no body": one.changed(body=b""),
        }
    cover = ("@method", "content-digest")
    empty = (("Content-Digest", digest_value(b"", "sha-256")),)
    subjects["the digest of an empty body"] = signed(case, fields=empty, algorithm=None, components=cover)
    both = digest_value(BODY, "sha-256") + ", " + digest_value(b"other", "sha-512")
    subjects["one digest right, one wrong"] = signed(
        case, fields=(("Content-Digest", both),), algorithm=None, components=cover
    )
    await _judge(case, agent, "AGENT-VERIFY-10", subjects, valid=False)


@check("AGENT-VERIFY-12", "AGENT-VERIFY-13", "AGENT-VERIFY-14", surface="agent", fix=_FIX)
async def what_is_covered_is_there_once(case: Case) -> None:
    """Labels that differ, a covered component that is missing, and one that is covered twice are not valid.

    Gives the two headers different labels, takes covered fields away, and covers a component twice under a signature
    that is right otherwise. Expects 200 with a negative result (for the headers 422 passes, too), never 5xx.
    """
    agent = await agent_of(case)
    one = signed(case, components=("@method", "content-type", "date", "content-digest"))
    field = one.message.field("signature") or ""
    labels = {
        "the signature's label is another": one.with_field("Signature", field.replace("sig1=", "sig2=")),
        "the signature's label is in capitals": one.with_field("Signature", field.replace("sig1=", "sig1x=")),
    }
    for what, answer in zip(labels, await together(map(agent.verify, labels.values())), strict=True):
        grey = answer.status == 422 and not agent.ours
        holds = grey or is_negative(agent, answer)
        where = {"message": what}
        case.expect("AGENT-VERIFY-12", holds, "not valid", said(agent, answer), exchange=answer, where=where)
    missing = {f"without {name}": one.with_field(name, None) for name in ("Content-Type", "Date", "Content-Digest")}
    answers = await _judge(case, agent, "AGENT-VERIFY-13", missing, valid=False)
    for what, answer in zip(missing, answers, strict=True):
        listed = agent.errors(answer)
        if listed is not None:
            told = "an error"
            case.expect("AGENT-VERIFY-13", bool(listed), told, listed, exchange=answer, where={"message": what})
    await _judge(case, agent, "AGENT-VERIFY-14", _repeated(case), valid=False)


def _repeated(case: Case) -> dict[str, Subject]:
    """Return messages whose signature covers a component twice, signed over the base that this would give."""
    return {
        "a derived component twice": _twice(case, ("@method", "@path"), "@method"),
        "a field twice": _twice(case, ("@method", "date"), "date"),
    }


def _twice(case: Case, cover: Iterable[str], again: str) -> Subject:
    key = signer(case)
    one = signed(case, key, method="GET", body=b"", components=tuple(cover))
    identifier = str(Component(again))
    lines = one.base.splitlines()
    line = next(text for text in lines if text.startswith(identifier + ":"))
    parameters = lines[-1].replace("(", f"({identifier} ", 1)
    base = "\n".join([line, *lines[:-1], parameters])
    raw = key.sign(key.algorithms[0], base.encode())
    name_signature(case, raw)
    given = parameters.partition(": ")[2]
    return _with_signature(one.with_field("Signature-Input", f"sig1={given}"), raw)


@check("AGENT-VERIFY-01", "AGENT-VERIFY-11", surface="agent", fix="Allow clocks to differ by the skew, and no more.")
async def clocks_may_differ_by_the_skew(case: Case) -> None:
    """A signature made or expired within the skew is valid, one beyond it is not.

    Signs with `created` ahead of now, and with `expires` behind it, by half the bound skew and by twice as much and a
    minute more. Expects the first to be valid, the second not. Without a bound skew nothing is asked.
    """
    agent = await agent_of(case)
    skew = agent.bindings.skew
    if skew is None:
        for row in ("AGENT-VERIFY-01", "AGENT-VERIFY-11"):
            case.not_applicable(row, "no skew is bound: give [agent] skew")
        return
    now = int(time.time())
    little, much = skew // 2, 2 * skew + 60
    within = {"created ahead": _timed(case, created=now + little), "expired": _timed(case, expires=now - little)}
    beyond = {"created ahead": _timed(case, created=now + much), "expired": _timed(case, expires=now - much)}
    await _judge(case, agent, "AGENT-VERIFY-01", within, valid=True)
    await _judge(case, agent, "AGENT-VERIFY-11", beyond, valid=False)


def _timed(case: Case, **times: int) -> Subject:
    for name, value in times.items():
        case.client.names.name(str(value), name.upper())
    return signed(case, parameters=dict(times))


@check("AGENT-VERIFY-18", "AGENT-VERIFY-19", surface="agent", fix="Ignore members that you do not know; keep no state.")
async def extras_and_repeats_change_nothing(case: Case) -> None:
    """Unknown members in the body are tolerated, and the same request gives the same result on repeat.

    Verifies a sound message and a wrong one with further members of every type, alone and together, then both several
    times in turn. Expects the verdict of the plain request each time.
    """
    agent = await agent_of(case)
    one = signed(case)
    wrong = one.expecting(raw_public(signer(case)))
    for valid, each in ((True, one), (False, wrong)):
        bodies = [{name: value} for name, value in _EXTRAS.items()] + [dict(_EXTRAS)]
        answers = await together(agent.verify(each, **more) for more in bodies)
        for more, answer in zip(bodies, answers, strict=True):
            holds = is_positive(agent, answer) if valid else is_negative(agent, answer)
            where = {"member": next(iter(more)) if len(more) == 1 else "all", "message": "sound" if valid else "wrong"}
            told = f"200, {'valid' if valid else 'not valid'}"
            case.expect("AGENT-VERIFY-18", holds, told, said(agent, answer), exchange=answer, where=where)
    # Messages that were not verified before: an agent that keeps something of the first time must be seen.
    again = signed(case)
    await _repeat(case, agent, again, again.expecting(raw_public(signer(case))))


async def _repeat(case: Case, agent: Agent, one: Subject, wrong: Subject) -> None:
    first = {id(each): await agent.verify(each) for each in (one, wrong)}
    for each in (one, wrong, wrong, one, one, wrong):
        answer = await agent.verify(each)
        before = said(agent, first[id(each)])
        now = said(agent, answer)
        where = {"message": "sound" if each is one else "wrong"}
        case.expect("AGENT-VERIFY-19", now == before, before, now, exchange=answer, where=where)
