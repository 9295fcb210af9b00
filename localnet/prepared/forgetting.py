"""What a service in another look forgets of the process that it was forked from."""

from __future__ import annotations

import sys


def forget_services() -> None:
    """Leave the modules of services to be imported anew, after what a variant changes; libraries stay."""
    for name in [*sys.modules]:
        if name.partition(".")[0] == "reference":
            del sys.modules[name]
