"""Notes on Content-Digest: the body that it belongs to, and its notation (RFC 9530 section 2)."""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
import zlib
from collections.abc import Iterator

from reference.protocol.message_signatures.content_digest import ALGORITHMS, FIELD, DigestReport, compute
from reference.protocol.message_signatures.diagnosis.suspect_trial import clip
from reference.protocol.message_signatures.message import Message

# Each variant of the body is hashed. Large bodies are not tried, so that one call stays cheap.
_MOST_OCTETS = 65_536
# A small body may unpack to gigabytes. Only the beginning is unpacked.
_MOST_UNPACKED = 1_000_000
_ADVICE = "Digest the very octets that are sent, and let nothing change them afterwards."


def digest_notes(code: str, message: Message, report: DigestReport) -> Iterator[str]:
    """Yield what can be said about one fault in the digest."""
    if code == "content_digest_mismatch":
        yield from _notes_on_mismatch(message, report)
    elif code in {"content_digest_malformed", "content_digest_unsupported"}:
        yield from _notes_on_form(message)
    elif code == "content_digest_missing":
        yield from _notes_on_other_fields(message)


def _notes_on_mismatch(message: Message, report: DigestReport) -> Iterator[str]:
    name, provided = report.algorithm or "sha-256", report.provided_digest
    yield f"{name} of the body is {report.computed_digest}; the field says {clip(str(provided))}."
    if len(message.content) > _MOST_OCTETS:
        return
    for description, octets in _list_bodies(message.content):
        if compute(name, octets) == provided:
            yield f"The digest is that of the body {description}. {_ADVICE}"
            return
    for description, value in _list_values(message.content):
        if base64.b64encode(value).decode() == provided:
            yield f"The digest is {description}. Send {name}=:{report.computed_digest}: for this body."
            return


def _list_bodies(content: bytes) -> Iterator[tuple[str, bytes]]:
    yield "with a line feed at its end", content + b"\n"
    yield "with a carriage return and a line feed at its end", content + b"\r\n"
    yield "without the white space at its end", content.rstrip()
    yield "without the white space around it", content.strip()
    yield "with CRLF as its line ends", content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    yield "with LF as its line ends", content.replace(b"\r\n", b"\n")
    yield "with a byte order mark", b"\xef\xbb\xbf" + content
    yield "without its byte order mark", content.removeprefix(b"\xef\xbb\xbf")
    yield "when it is empty: the digest was made before there was a body", b""
    yield "before its content coding was put on", _decompress(content)
    yield "in chunked framing, which is not part of the content", b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content)
    yield "in base64", base64.b64encode(content)
    yield "in hex", content.hex().encode()
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return
    for form in ("NFC", "NFD"):
        yield f"with its characters in Unicode form {form}", unicodedata.normalize(form, text).encode()
    yield "in UTF-16", text.encode("utf-16-le")
    yield "in Latin-1", text.encode("latin-1", "replace")
    yield from _list_documents(text)


def _decompress(content: bytes) -> bytes:
    """Return the beginning of what gzip or zlib packed; the content itself if it is neither."""
    try:
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(content, _MOST_UNPACKED)
    except zlib.error:
        return content


def _list_documents(text: str) -> Iterator[tuple[str, bytes]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    for ascii_only in (False, True):
        for is_ordered in (False, True):
            order = ", its members sorted" if is_ordered else ""
            for description, style in (
                ("without spaces", {"separators": (",", ":")}),
                ("with a space after commas and colons", {}),
                ("indented by 2", {"indent": 2}),
                ("indented by 4", {"indent": 4}),
            ):
                document = json.dumps(value, ensure_ascii=ascii_only, sort_keys=is_ordered, **style)
                octets = document.encode("utf-8", "replace")
                yield f"written as JSON {description}{order}", octets
                yield f"written as JSON {description}{order}, with a line feed at its end", octets + b"\n"


def _list_values(content: bytes) -> Iterator[tuple[str, bytes]]:
    for name, digest in ALGORITHMS.items():
        once = digest(content)
        yield f"the {name} digest, under another name", once.digest()
        yield f"the {name} digest in hex, encoded once more", once.hexdigest().encode()
        yield f"the {name} digest in base64, encoded once more", base64.b64encode(once.digest())
        yield f"the {name} digest of the {name} digest", digest(once.digest()).digest()
    for name in ("md5", "sha1", "sha384", "sha3_256"):
        yield f"a {name} digest", hashlib.new(name, content, usedforsecurity=False).digest()


def _notes_on_form(message: Message) -> Iterator[str]:
    text = message.fields.combine(FIELD) or ""
    for name in ALGORITHMS:
        right = compute(name, message.content)
        in_hex = base64.b64decode(right).hex()
        url = right.replace("+", "-").replace("/", "_").rstrip("=")
        advice = f"Write {name}=:{right}: for this body."
        if in_hex in text.lower():
            yield f"It holds the right {name} digest in hex. {advice}"
        elif right in text and f"{name}=:{right}:" not in text:
            yield f"It holds the right {name} digest, with another name or other marks around it. {advice}"
        elif url in text or right.rstrip("=") in text:
            yield f"It holds the right {name} digest in base64url or without padding. {advice}"


def _notes_on_other_fields(message: Message) -> Iterator[str]:
    for name, explanation in (
        ("digest", "Digest is the older field of RFC 3230"),
        ("repr-digest", "Repr-Digest is of the representation"),
        ("content-md5", "Content-MD5 is obsolete"),
        ("x-content-digest", "X-Content-Digest is not a field of RFC 9530"),
    ):
        if message.fields.combine(name) is not None:
            right = compute("sha-256", message.content)
            yield (
                f"{explanation}; it does not stand for Content-Digest. Send Content-Digest: sha-256=:{right}: and"
                " cover it."
            )
