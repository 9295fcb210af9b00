"""The clauses of the profile that decide what the interface leaves open."""

from __future__ import annotations

from typing import Final

FORM: Final = ("profile 4 P-WH-04: t, then v1 in lower-case hex, no spaces; members after them are nobody's",)
KEY: Final = ("profile 4 P-WH-05: the key is the UTF-8 text of the whole secret, with its prefix",)
V2: Final = ("profile 4 P-WH-06: v2 and its key",)
ROTATION: Final = ("profile 4 P-WH-07: receivers accept the old secret for a while after a rotation",)
TIME: Final = ("profile 4 P-WH-13: a time over the tolerance away, to either side, is refused",)
