"""The modules that a forked variant of a service must import again."""

from __future__ import annotations

import sys


def forget_services() -> None:
    """Remove the modules of services, so that they are imported again after the variant's changes; libraries stay."""
    for name in [*sys.modules]:
        if name.partition(".")[0] == "reference":
            del sys.modules[name]
