"""Where Falcon's arithmetic comes from: the one place that knows the library, which may be missing (P-AD-05)."""

from __future__ import annotations

import importlib
from typing import cast

from reference.protocol import falcon
from reference.web.logs import get_logger

_MODULE = "pqcrypto.sign.falcon_1024"  # releases from 1.0 on have no Falcon
_log = get_logger()


def find_library() -> falcon.Library | None:
    """Return the library, or None when it is not installed or does not load; then nothing is verified or issued."""
    try:
        return cast("falcon.Library", importlib.import_module(_MODULE))
    except (ImportError, OSError) as fault:
        _log.warning("falcon_unavailable", module=_MODULE, kind=type(fault).__name__)
        return None
