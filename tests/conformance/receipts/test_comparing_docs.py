"""docs/comparing-receipts.md says of each claim what the program does."""

from __future__ import annotations

import re
from pathlib import Path

from conformance.receipts.offline.comparison_rules import RULES, Bound

DOCUMENT = Path(__file__).parents[3] / "docs" / "comparing-receipts.md"


def test_the_table_has_each_claim_beside_what_it_follows_from() -> None:
    """Every rule's claim stands in the row of what it follows from, and in no other; no row has a claim more."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    printed_claims = {bound: set(re.findall(r"`([a-z_]+)`", cell)) for bound, cell in rows if bound in set(Bound)}
    expected_claims: dict[str, set[str]] = {bound.value: set() for bound in Bound}
    for rules in RULES.values():
        for path, rule in rules.items():
            expected_claims[rule.bound.value].add(path[0])
    assert expected_claims == printed_claims
