"""Table of the judges by family; a judge's module is imported at the first vector of its family."""

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
    """Return the judge of a family; None for an unknown family."""
    if family not in FAMILIES:
        return None
    family_judge: Judge = import_module(f"{__package__}.{family}").judge
    return family_judge
