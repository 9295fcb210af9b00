"""The suite and an agent and a control plane that were written from the specification alone, in Node.js."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.ledger import load
from tools.mutants.second.agent_servers import SOURCE, servers
from tools.mutants.second.suite_verdicts import verdicts

# Every other row passes. Node.js 20 has no SQLite, the profile names no bundled addon and no PostgreSQL, and no request
# shows whether an agent works without a network.
OTHERWISE = {
    "AGENT-VERIFY-20": "documented",
    "CP-ADDON-08": "not_applicable",
    "CP-CONF-03": "xfail",
    "CP-CONF-04": "inconclusive",
    "CP-CONF-07": "not_applicable",
    "CP-CONF-08": "not_applicable",
    "CP-ISSUER-10": "not_applicable",
    "CP-ISSUER-11": "not_applicable",
    "CP-TRUST-07": "not_applicable",
    # The two do not claim the specification.
    **{row.id: "not_applicable" for row in load().select(["AGENT", "CP"]) if row.option == "specification"},
}
FIRST = ("AGENT-VERIFY-01", "AGENT-EXPLAIN-02", "AGENT-SIGN-05", "CP-ISSUER-01", "CP-AUDIT-05", "CP-POST-02")


def rows_of(*prefixes: str) -> set[str]:
    """Return the ids of the rows of some groups."""
    return {row.id for row in load().select(list(prefixes))}


def test_the_first_rows_pass(tmp_path: Path) -> None:
    """Verdict, base, demo signature, trust set, audit chain and posture of the second implementation are right."""
    with servers({}, SOURCE, tmp_path) as profile:
        row_verdicts = verdicts(profile, *FIRST)
    assert row_verdicts == dict.fromkeys(FIRST, "pass")


@pytest.mark.slow
def test_every_row_is_judged_as_it_should_be(tmp_path: Path) -> None:
    """All rows of agent and control plane pass but those that say why they do not."""
    with servers({}, SOURCE, tmp_path) as profile:
        row_verdicts = verdicts(profile, "AGENT", "CP")
    assert rows_of("AGENT", "CP") <= set(row_verdicts)
    assert {row: verdict for row, verdict in row_verdicts.items() if verdict != "pass"} == OTHERWISE
