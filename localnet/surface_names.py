"""The surfaces that a stack can have, apart from everything that starts one."""

from __future__ import annotations

from typing import Final

SURFACES: Final = ("rail", "gateway", "agent", "control_plane")
