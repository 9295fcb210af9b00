"""Which judge each family has; its module is imported when the first vector of the family comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from conformance.vectors.judges import Verdict

Judge = Callable[[Mapping[str, Any]], Verdict]

# A family's judge stands in the module of its name.
FAMILIES: Final = (
    "receipts",
    "message_signatures",
    "webhook_signatures",
    "audit_chains",
    "canonical_json",
    "challenges",
    "welds",
    "falcon_envelopes",
    "zk_receipts",
)


def judge(family: str) -> Judge | None:
    """Return what judges the vectors of a family; None where nothing here does."""
    if family not in FAMILIES:
        return None
    family_judge: Judge = import_module(f"{__package__}.{family}").judge
    return family_judge
