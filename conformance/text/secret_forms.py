"""The encoded forms of a secret, by which logs remove it and checks find it in other text."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import quote, quote_plus

# Shorter encoded forms occur in other texts by chance.
SHORTEST_FORM: Final = 8


def forms_of(secret: str) -> Mapping[str, tuple[str, ...]]:
    """Return the encoded forms of a secret by their name, without the secret itself and without duplicates.

    Args:
        secret: Any text; bytes that are not text on the wire are surrogates.
    """
    raw = secret.encode("utf-8", "surrogatepass")
    forms: dict[str, tuple[str, ...]] = {}
    known_texts = {secret}
    for name, texts in (
        ("percent-encoded", _percent(secret)),
        ("in JSON", _json(secret)),
        ("in HTML", _html(secret)),
        ("in base64", _base64(raw)),
        ("in hex", (raw.hex(), raw.hex().upper())),
    ):
        new_texts = [text for text in dict.fromkeys(texts) if len(text) >= SHORTEST_FORM and text not in known_texts]
        known_texts.update(new_texts)
        if new_texts:
            forms[name] = tuple(new_texts)
    return forms


def _percent(secret: str) -> Iterator[str]:
    """Yield it as a part of a URL or a form: with upper-case and lower-case escapes, and with an unescaped slash."""
    for safe in ("", "/"):
        for text in (quote(secret, safe, errors="surrogatepass"), quote_plus(secret, safe, errors="surrogatepass")):
            yield text
            yield "".join(f"%{part[:2].lower()}{part[2:]}" if at else part for at, part in enumerate(text.split("%")))


def _json(secret: str) -> Iterator[str]:
    """Yield it as a string of JSON: escaped as needed, in ASCII, and with an escaped slash."""
    for ascii_only in (False, True):
        text = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield text
        yield text.replace("/", "\\/")
        yield "".join(f"\\u{ord(one):04x}" if one in "<>&'+=" else one for one in text)


def _html(secret: str) -> Iterator[str]:
    """Yield it as text of a page, with the usual spellings of the two quotation marks."""
    text = html.escape(secret)
    yield text
    yield text.replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    yield html.escape(secret, quote=False)


def _base64(raw: bytes) -> Iterator[str]:
    """Yield the part of its base64 and base64url that no neighbour changes, at each of three offsets."""
    for offset in range(3):
        # A base64 character carries 6 bits of an 8-bit stream. The characters at both ends mix bits of the
        # secret with bits of its neighbours, so only those between them are the same in every text.
        first, end = -(-offset * 8 // 6), (offset + len(raw)) * 8 // 6
        text = base64.b64encode(bytes(offset) + raw).decode()[first:end]
        yield text
        yield text.replace("+", "-").replace("/", "_")
