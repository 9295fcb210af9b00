"""The library for Falcon signatures, which may be missing (P-AD-05); no other module names it."""

from __future__ import annotations

import importlib
from typing import cast

from reference.protocol import falcon
from reference.web.logs import get_logger

# Releases of the package from 1.0 on have no Falcon.
_MODULE = "pqcrypto.sign.falcon_1024"
_log = get_logger()


def find_library() -> falcon.Library | None:
    """Return the library, or None if it does not load; without it nothing is verified or issued."""
    try:
        return cast("falcon.Library", importlib.import_module(_MODULE))
    # OSError: a compiled library for another machine is found but does not load.
    except (ImportError, OSError) as fault:
        _log.warning("falcon_unavailable", module=_MODULE, kind=type(fault).__name__)
        return None
