"""Keys of webhook MACs: the secret's whole text, or the bytes that the text encodes."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

Form: TypeAlias = Literal["text", "base64", "hex"]


def _decode_base64(text: str) -> bytes:
    # Secrets are written in both alphabets, with and without padding.
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if {"-", "_"} & set(text) else None)


_DECODE: Final[Mapping[Form, Callable[[str], bytes]]] = {"base64": _decode_base64, "hex": bytes.fromhex}


def mac_key(secret: str, form: Form) -> bytes:
    """Return the key for a secret.

    Args:
        secret: The secret's text.
        form: `text` for its UTF-8 bytes; else the encoding of the text after its prefix (`whsec_`). A text that cannot
            be decoded is itself the key.
    """
    if form == "text":
        return secret.encode()
    _, mark, without_prefix = secret.partition("_")
    try:
        return _DECODE[form](without_prefix if mark else secret)
    except ValueError:
        return secret.encode()


def decoded_keys(secret: str) -> Iterator[tuple[Form, bytes]]:
    """Yield the decoded keys of a secret, with their forms."""
    for form in _DECODE:
        if (key := mac_key(secret, form)) != secret.encode():
            yield form, key
