"""How drafts of canonical JSON are made: a text with the form it has, or with the stage that refuses it."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from conformance.vectors import OWN_ORIGIN
from tools.vectors_builder.drafting import VALID, Draft

# What rests on canonical forms: the hashes in a receipt, and the MACs of the audit log.
ROWS: Final = ("RAIL-RCPT-04", "RAIL-RCPT-05", "CP-AUDIT-05")
ROWS_ON_JSON: Final = ("X-JSON-02", *ROWS)
_WHOLE: Final = ("valid", "values")
_REFUSAL: Final = ("stage", "codes")


def _input(text: str | bytes) -> dict[str, str]:
    data = text.encode() if isinstance(text, str) else text
    return {"json_b64": base64.b64encode(data).decode()}


def holds(
    property_name: str,
    variant: str,
    text: str | bytes,
    canonical: str,
    why: str,
    pins: tuple[str, ...] = (),
    origin: str = OWN_ORIGIN,
) -> Draft:
    """Return the draft of a text that has a canonical form; with `pins`, only by those clauses."""
    form = canonical.encode()
    values = {"canonical_b64": base64.b64encode(form).decode(), "sha256": hashlib.sha256(form).hexdigest()}
    pinned_members = _WHOLE if pins else ()
    return Draft(
        VALID,
        property_name,
        variant,
        _input(text),
        why,
        ROWS,
        values=values,
        pinned_members=pinned_members,
        pins=pins,
        origin=origin,
    )


def draft_refusal(
    stage: str,
    fault_name: str,
    variant: str,
    text: str | bytes,
    fault: str,
    why: str,
    pins: tuple[str, ...] = (),
    origin: str = OWN_ORIGIN,
) -> Draft:
    """Return the draft of a text that has no canonical form; with `pins`, only by those clauses."""
    pinned_members = ("valid", *_REFUSAL) if pins else _REFUSAL
    return Draft(
        stage,
        fault_name,
        variant,
        _input(text),
        why,
        ROWS_ON_JSON,
        fault,
        pinned_members=pinned_members,
        pins=pins,
        origin=origin,
    )
