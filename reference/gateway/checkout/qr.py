"""QR codes as PNG."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO

import segno

MAX_DATA_BYTES = 512
_SCALE, _BORDER = 8, 4
_CACHED_CODES = (
    256  # pages that are open at a time and ask again; a code takes 10 ms and more to draw, and one or two KB
)


@lru_cache(maxsize=_CACHED_CODES)
def png(payload: str) -> bytes:
    """Return the code of a text: black on white, with the quiet zone that readers want."""
    code = segno.make_qr(payload, error="m" if len(payload.encode()) <= MAX_DATA_BYTES else "l")
    out = BytesIO()
    code.save(out, kind="png", scale=_SCALE, border=_BORDER, dark="#000", light="#fff")
    return out.getvalue()
