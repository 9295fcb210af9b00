"""QR codes as PNG."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO

import segno

MAX_DATA_BYTES = 512
_SCALE, _BORDER = 8, 4
# Open pages ask for their code again and again. To draw one takes 10 ms or more, and it has one or two KB.
_CACHED_CODES = 256


@lru_cache(maxsize=_CACHED_CODES)
def png(payload: str) -> bytes:
    """Return the code of a text: black on white, with the quiet zone that readers need."""
    code = segno.make_qr(payload, error="m" if len(payload.encode()) <= MAX_DATA_BYTES else "l")
    out = BytesIO()
    code.save(out, kind="png", scale=_SCALE, border=_BORDER, dark="#000", light="#fff")
    return out.getvalue()
