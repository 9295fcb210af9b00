"""An addon of your own in a page: it tells whether the control plane trusts an issuer.

    S2_HUB_URL=http://127.0.0.1:8094 S2_HUB_TOKEN=$(cat data/control_plane/admin_token) python addon_in_a_page.py
    curl http://127.0.0.1:8200/v1/known -d '{"did":"did:web:bench.example"}'

The kit does the rest: `/health`, the trust set, registration, retries, limits, request ids and errors.
"""
# ruff: noqa: INP001 - a program for people

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from reference.addons.kit import Addon, Call, Context, Handler
from reference.protocol.keys import falcon_kid


class Question(BaseModel):
    """What is asked; what does not fit is answered 422 with the place."""

    did: str


def operations(context: Context) -> Mapping[str, Handler]:
    """Return what the addon answers, by method and path; this is called once, before it serves."""

    async def known(call: Call) -> dict[str, Any]:
        did = call.model(Question).did
        keys = context.keys()
        if keys is None:  # never pulled, or too old to be used
            return {"known": None, "kid": None}
        return {"known": did in keys, "kid": falcon_kid(keys[did]) if did in keys else None}

    return {"POST /v1/known": known}


if __name__ == "__main__":
    Addon("known-issuers", int(os.environ.get("PORT", "8200")), operations, version="1.0.0").main()
