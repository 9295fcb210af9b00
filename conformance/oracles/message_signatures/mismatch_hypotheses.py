"""Hypotheses about a failed signature: texts that the signer may have signed instead of the message's base.

Nothing here makes a message valid. A fitting hypothesis says what the signer should change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import unquote

from conformance.oracles.ed25519_keys import KeyFault
from conformance.oracles.message_signatures import keys
from conformance.oracles.message_signatures.algorithms import ED25519, VerifyingKey
from conformance.oracles.message_signatures.base import signature_base
from conformance.oracles.message_signatures.message import Message
from conformance.oracles.message_signatures.signature_headers import LabelledSignature

# A longer prefix is unlikely, and each length costs one more verification.
_MOST_SEGMENTS = 3
_DEFAULT_PORT = {"http": ":80", "https": ":443"}


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Another text that may have been signed, and what it means if it was."""

    base: str
    meaning: str


def find_hypotheses(message: Message, signature: LabelledSignature, key: VerifyingKey, algorithm: str) -> list[str]:
    """Return what every hypothesis means under which the signature holds."""
    meanings = [
        hypothesis.meaning
        for hypothesis in _bases(message, signature)
        # A base is ASCII. A hypothesis with other characters cannot be what was signed.
        if hypothesis.base.isascii() and key.verify(algorithm, signature.signature, hypothesis.base.encode("ascii"))
    ]
    return list(dict.fromkeys([*meanings, *_other_key(message, signature)]))


def _bases(message: Message, signature: LabelledSignature) -> Iterator[Hypothesis]:
    for meaning, changed_message in _messages(message):
        text = signature_base(changed_message, signature.coverage).text
        if text is not None:
            yield Hypothesis(text, meaning)
    text = signature_base(message, signature.coverage).text
    if text is not None:
        yield from _texts(text, message, signature)


def _messages(message: Message) -> Iterator[tuple[str, Message]]:
    for meaning, change in _CHANGES:
        for changed_message in change(message):
            # An unchanged message has already failed to verify.
            if changed_message != message:
                yield meaning, changed_message


def _methods(message: Message) -> Iterator[Message]:
    for method in (message.method.upper(), message.method.lower(), "GET" if message.method == "HEAD" else "HEAD"):
        yield replace(message, method=method)


def _schemes(message: Message) -> Iterator[Message]:
    yield replace(message, scheme="http" if message.scheme.lower() == "https" else "https")


def _proxied_messages(message: Message) -> Iterator[Message]:
    """Yield the message as the client sent it to a proxy, by what proxies say of that."""
    host, scheme = message.field("x-forwarded-host"), message.field("x-forwarded-proto")
    for pair in (message.field("forwarded") or "").partition(",")[0].split(";"):
        name, _, value = pair.strip().partition("=")
        host = value.strip('"') if name.lower() == "host" else host
        scheme = value.strip('"') if name.lower() == "proto" else scheme
    if host or scheme:
        yield replace(message, authority=host or message.authority, scheme=scheme or message.scheme)
    for original_host in filter(None, (message.field("host"), message.field("x-original-host"))):
        yield replace(message, authority=original_host)


def _paths(message: Message) -> Iterator[Message]:
    path, query = message.path, "" if message.query is None else f"?{message.query}"
    yield replace(message, target=(path.removesuffix("/") or "/") + query)
    yield replace(message, target=path + "/" + query)


def _prefixes(message: Message) -> Iterator[Message]:
    query = "" if message.query is None else f"?{message.query}"
    parts = message.path.split("/")
    for cut in range(1, min(_MOST_SEGMENTS, len(parts) - 2) + 1):
        yield replace(message, target="/" + "/".join(parts[cut + 1 :]) + query)


def _escapes(message: Message) -> Iterator[Message]:
    yield replace(message, target=unquote(message.target))
    yield replace(message, target=message.target.replace("%20", "+"))
    yield replace(message, target=message.target.replace("+", "%20"))


def _without_query(message: Message) -> Iterator[Message]:
    yield replace(message, target=message.path)


# What signers and proxies do to a message. Each change is tried alone: two changes at once would fit by chance more
# often than they explain a fault.
_CHANGES: tuple[tuple[str, Callable[[Message], Iterator[Message]]], ...] = (
    ("the method was signed as another, or in another case: sign @method exactly as it is sent", _methods),
    (
        (
            "the scheme was another (http for https or the reverse): a proxy ends TLS; verify with the scheme that "
            "the client used"
        ),
        _schemes,
    ),
    (
        (
            "the host or scheme was that of the client's own request: a proxy changed them; verify with the one that "
            "the client called"
        ),
        _proxied_messages,
    ),
    ("the path was signed with or without a slash at its end: a router added or took it", _paths),
    (
        (
            "the path was signed without its beginning: a proxy put a prefix in front; verify with the path that the "
            "client called"
        ),
        _prefixes,
    ),
    (
        "the target was signed with other percent-encodings: sign path and query exactly as they are sent, undecoded",
        _escapes,
    ),
    ("the message was signed without its query: the query was added later, or the signer left it out", _without_query),
)


def _texts(base: str, message: Message, signature: LabelledSignature) -> Iterator[Hypothesis]:
    lines = base.split("\n")
    values = dict(line.split(": ", 1) for line in lines)
    coverage_text = str(signature.coverage)

    def replace_line(identifier: str, value: str) -> str:
        return "\n".join(f"{identifier}: {value}" if line.startswith(f"{identifier}: ") else line for line in lines)

    if '"@path"' in values and message.query is not None:
        meaning = "the signer put the query inside @path: @path ends before the ?, cover @query for the rest"
        yield Hypothesis(replace_line('"@path"', f"{message.path}?{message.query}"), meaning)
    if '"@query"' in values:
        meaning = "the signer left out the question mark: the value of @query begins with ?"
        yield Hypothesis(replace_line('"@query"', message.query or ""), meaning)
    if '"@authority"' in values:
        meaning = "the signer kept the default port or the letters' case in @authority: leave the port out, lower case"
        yield Hypothesis(replace_line('"@authority"', message.authority), meaning)
        port = _DEFAULT_PORT.get(message.scheme.lower(), "")
        yield Hypothesis(replace_line('"@authority"', message.normal_authority() + port), meaning)
    yield Hypothesis(base + "\n", "the signer ended the base with a line feed: its last line has none")
    yield Hypothesis(base.replace("\n", "\r\n"), "the signer's base has CRLF: its lines end in a line feed alone")
    yield Hypothesis("\n".join(lines[:-1]), 'the signer left out the last line, "@signature-params"')
    labelled_line = f'"@signature-params": {signature.label}={coverage_text}'
    yield Hypothesis("\n".join([*lines[:-1], labelled_line]), "the signer put the label into @signature-params")
    sent_text = (message.field("signature-input") or "").partition("=")[2]
    raw = f'"@signature-params": {sent_text}'
    meaning = (
        "the signer signed Signature-Input as it was sent: its parameters must be serialised again (RFC 9421, 2.3)"
    )
    yield Hypothesis("\n".join([*lines[:-1], raw]), meaning)
    bare = "\n".join(line.replace('"', "", 2) for line in lines[:-1])
    yield Hypothesis(f"{bare}\n{lines[-1]}", "the signer left out the quotes around the components' names")


def _other_key(message: Message, signature: LabelledSignature) -> Iterator[str]:
    """Yield that the key which `keyid` spells out signed; it is still not the expected one."""
    keyid = signature.coverage.parameter("keyid")
    base = signature_base(message, signature.coverage).text
    if not isinstance(keyid, str) or base is None:
        return
    for read in (keys.of_did_key, keys.of_hex):
        try:
            named_key = read(keyid)
        except KeyFault:
            continue
        # A key of small order would "verify" many messages, and the note would accuse the wrong
        # key.
        if named_key.rejection is None and named_key.verify(ED25519, signature.signature, base.encode("ascii")):
            yield (
                "the key that keyid spells out did sign this message, and it is not the expected key: if you trust its "
                "holder, expect that key"
            )
