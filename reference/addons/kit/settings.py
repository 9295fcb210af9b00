"""Settings of an addon (specification 9); those of its link are in `reference.web.control_plane_link.link`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from reference.web.settings import CommonSettings


class AddonSettings(CommonSettings):
    """The settings of one addon process.

    Attributes:
        addon_port: Port; None takes the addon's own.
        addon_fd: Number of a socket that already listens, or None.
        addon_data_dir: Folder of its files; None takes `data/<name>`.
        addon_rate: Calls a minute and address (P-RL-07).
    """

    addon_port: int | None = Field(default=None, ge=0, le=65535)
    addon_fd: int | None = Field(default=None, ge=3)
    addon_data_dir: Path | None = None
    addon_rate: int = Field(default=120, ge=1)
