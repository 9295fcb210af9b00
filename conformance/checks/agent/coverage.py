"""AGENT-VERIFY-01, -08 to -10 and -12 to -14: what a signature covers, and whether it is present."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.judging.agent.verdicts import FIX, is_negative, judge_verdicts, verdict_of, with_signature
from conformance.oracles.message_signatures import structured
from conformance.oracles.message_signatures.components import Component
from conformance.oracles.message_signatures.digests import digest_value
from conformance.surfaces.agent import Agent, Subject, agent_of, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import BODY, FIELDS, TARGET, name_signature

# Bytes. Longer than a network packet and than usual read buffers, so that the content arrives in several pieces.
_LONG = 30_000
_LONG_BODY = b'{"text":"' + b"a" * (_LONG - 11) + b'"}'
_TOO_LARGE = 413


@check("AGENT-VERIFY-08", "AGENT-VERIFY-09", surface="agent", fix=FIX)
async def only_what_is_covered_counts(case: Case) -> None:
    """A changed method, path, query, authority or covered field makes the result negative; an uncovered one does not.

    Signs one message over all of these and changes one of them after the signing, in several ways. Expects a negative
    result. Expects that it stays valid when an uncovered field is changed, added or removed.
    """
    agent = await agent_of(case)
    cover = ("@method", "@authority", "@path", "@query", "content-type", "x-list", "content-digest")
    fields = (*FIELDS, ("X-List", "a"), ("X-List", "b"))
    one = signed(case, fields=fields, components=cover)
    single = signed(case, fields=(*FIELDS, ("X-List", "a")), components=cover)
    equal = signed(case, fields=(*FIELDS, ("X-List", "a"), ("X-List", "a")), components=cover)
    changes = {
        "method": one.with_changes(method="PUT"),
        "method in lower case": one.with_changes(method="post"),
        "authority": one.with_changes(authority="api.example.com"),
        "authority with a port": one.with_changes(authority="api.example.org:8443"),
        "path": one.with_changes(target=TARGET.replace("/7", "/8")),
        "path in capitals": one.with_changes(target=TARGET.replace("orders", "Orders")),
        "path with a slash at its end": one.with_changes(target=TARGET.replace("?", "/?")),
        "query": one.with_changes(target=TARGET.replace("page=2", "page=3")),
        "query left out": one.with_changes(target=TARGET.partition("?")[0]),
        "query in capitals": one.with_changes(target=TARGET.replace("items", "Items")),
        # A reserved character and its percent-encoding are not equivalent (RFC 9110, 4.2.3).
        "query with an encoded ampersand": one.with_changes(target=TARGET.replace("&", "%26")),
        "query in another order": one.with_changes(target="/orders/7?page=2&expand=items"),
        "a covered field": one.with_field("Content-Type", "text/plain"),
        "a covered field's second line": one.with_field("X-List", "a"),
        "a covered field's lines exchanged": _exchanged(one),
        "a covered field's letter case": one.with_field("Content-Type", "Application/JSON"),
        "a line equal to the one that is covered, added": _again(single),
        "one of two equal covered lines taken away": equal.with_field("X-List", "a"),
    }
    # The unchanged messages first: only if they are valid, the negative results below mean anything.
    await judge_verdicts(case, agent, "AGENT-VERIFY-09", {"nothing": one, "nothing, one line": single}, valid=True)
    await judge_verdicts(case, agent, "AGENT-VERIFY-08", changes, valid=False)
    await judge_verdicts(case, agent, "AGENT-VERIFY-09", _uncovered(case), valid=True)


def _again(one: Subject) -> Subject:
    return one.with_changes(headers=(*one.message.headers, ("X-List", one.message.field("x-list") or "")))


def _exchanged(one: Subject) -> Subject:
    kept = tuple(pair for pair in one.message.headers if pair[0] != "X-List")
    return one.with_changes(headers=(*kept, ("X-List", "b"), ("X-List", "a")))


def _uncovered(case: Case) -> dict[str, Subject]:
    one = signed(case, components=("@method", "@authority", "@path", "content-digest"))
    return {
        "Accept changed": one.with_field("Accept", "text/html"),
        "Date taken away": one.with_field("Date", None),
        "a field added": one.with_field("X-Forwarded-For", "192.0.2.7"),
        "the query changed": one.with_changes(target="/orders/7?page=9"),
    }


@check(
    "AGENT-VERIFY-01",
    "AGENT-VERIFY-10",
    surface="agent",
    fix="Compare the whole content with every digest that Content-Digest gives, however the signature covers it.",
)
async def the_content_is_compared(case: Case) -> None:
    """A body that does not match a covered Content-Digest makes the result negative.

    Signs messages with a digest of sha-256, sha-512 and both, and changes the body afterwards, also to nothing. Signs
    digests of another body. Covers the field by one of its members (`key`), or as bytes (`bs`). Changes the last byte
    of a long body, which is valid unchanged. Expects a negative result for all others. If one of two digests is right,
    a breach only warns.
    """
    agent = await agent_of(case)
    subjects: dict[str, Subject] = {}
    for algorithm in ("sha-256", "sha-512"):
        one = signed(case, algorithm=algorithm)
        await agent.verify(one)
        subjects |= {
            f"{algorithm}, another body": one.with_changes(body=BODY.replace(b"7", b"8")),
            f"{algorithm}, one byte more": one.with_changes(body=BODY + b"\n"),
            f"{algorithm}, no body": one.with_changes(body=b""),
        }
    subjects |= _covered_by_parameters(case)
    cover = ("@method", "content-digest")
    empty = (("Content-Digest", digest_value(b"", "sha-256")),)
    subjects["the digest of an empty body"] = signed(case, fields=empty, algorithm=None, components=cover)
    both = digest_value(BODY, "sha-256") + ", " + digest_value(b"other", "sha-512")
    half = {
        "one digest right, one wrong": signed(
            case, fields=(("Content-Digest", both),), algorithm=None, components=cover
        )
    }
    await judge_verdicts(case, agent, "AGENT-VERIFY-10", subjects, valid=False)
    open_ = "a recipient may ignore any digest of several (RFC 9530 section 2)"
    await judge_verdicts(case, agent, "AGENT-VERIFY-10", half, valid=False, beyond=open_)
    await _judge_long_content(case, agent)


def _covered_by_parameters(case: Case) -> dict[str, Subject]:
    """Return messages whose digest is covered by a parameter of the field, with a body changed after the signing."""
    parameters: Mapping[str, structured.Parameters] = {
        "by its member": (("key", "sha-256"),),
        "as bytes": (("bs", True),),
    }
    return {
        f"a digest that is covered {how}, another body": signed(
            case, components=("@method", Component("content-digest", given))
        ).with_changes(body=BODY.replace(b"7", b"8"))
        for how, given in parameters.items()
    }


async def _judge_long_content(case: Case, agent: Agent) -> None:
    """Judge content that arrives in several pieces: valid unchanged, and invalid with another last byte."""
    long = {f"{_LONG} bytes, {one}": signed(case, body=_LONG_BODY, algorithm=one) for one in ("sha-256", "sha-512")}
    if not agent.is_reference and (await agent.verify(next(iter(long.values())))).status == _TOO_LARGE:
        case.mark_not_applicable("AGENT-VERIFY-01", f"a body of {_LONG} bytes is answered 413")
        return
    await judge_verdicts(case, agent, "AGENT-VERIFY-01", long, valid=True)
    changed = {f"{what}, the last one changed": one.with_changes(body=_LONG_BODY[:-1] + b"]") for what, one in long.items()}
    await judge_verdicts(case, agent, "AGENT-VERIFY-10", changed, valid=False)


@check("AGENT-VERIFY-12", "AGENT-VERIFY-13", "AGENT-VERIFY-14", surface="agent", fix=FIX)
async def what_is_covered_is_there_once(case: Case) -> None:
    """Different labels, a missing covered component, and one that is covered twice make the result negative.

    Gives the two header fields different labels, one of them an additional label, removes covered fields, and covers a
    component twice under an otherwise correct signature. Expects 200 with a negative result, never 5xx. For the labels
    422 passes, too.
    """
    agent = await agent_of(case)
    one = signed(case, components=("@method", "content-type", "date", "content-digest"))
    field = one.message.field("signature") or ""
    labels = {
        "the signature's label is another": one.with_field("Signature", field.replace("sig1=", "sig2=")),
        "the signature's label is longer": one.with_field("Signature", field.replace("sig1=", "sig1x=")),
        "one more signature, under another label": one.with_field("Signature", f"{field}, other=:AAAA:"),
    }
    for what, answer in zip(labels, await run_concurrently(map(agent.verify, labels.values())), strict=True):
        # Whether such header fields are malformed is open (C-08), so another target than the reference may answer 422.
        grey = answer.status == 422 and not agent.is_reference
        holds = grey or is_negative(agent, answer)
        where = {"message": what}
        case.expect("AGENT-VERIFY-12", holds, "not valid", verdict_of(agent, answer), exchange=answer, where=where)
    missing = {f"without {name}": one.with_field(name, None) for name in ("Content-Type", "Date", "Content-Digest")}
    answers = await judge_verdicts(case, agent, "AGENT-VERIFY-13", missing, valid=False)
    for what, answer in zip(missing, answers, strict=True):
        listed = agent.errors(answer)
        if listed is not None:
            told = "an error"
            case.expect("AGENT-VERIFY-13", bool(listed), told, listed, exchange=answer, where={"message": what})
    await judge_verdicts(case, agent, "AGENT-VERIFY-14", _repeated(case), valid=False)


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
    # The signature is correct for this base. So a verifier that does not look for repeated components finds it valid.
    raw = key.sign(key.algorithms[0], base.encode())
    name_signature(case, raw)
    given = parameters.partition(": ")[2]
    return with_signature(one.with_field("Signature-Input", f"sig1={given}"), raw)
