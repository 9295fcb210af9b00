"""The suite and an agent and a control plane that were written from the specification alone, in Node.js."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.ledger import load
from tools import second_agent

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
}
FIRST = ("AGENT-VERIFY-01", "AGENT-EXPLAIN-02", "AGENT-SIGN-05", "CP-ISSUER-01", "CP-AUDIT-05", "CP-POST-02")


def rows_of(*prefixes: str) -> set[str]:
    """Return the ids of the rows of some groups."""
    return {row.id for row in load().select(list(prefixes))}


def test_the_first_rows_pass(tmp_path: Path) -> None:
    """Verdict, base, demo signature, trust set, audit chain and posture of the second implementation are right."""
    with second_agent.servers(second_agent.SOURCE, tmp_path) as profile:
        found = second_agent.verdicts(profile, *FIRST)
    assert found == dict.fromkeys(FIRST, "pass")


@pytest.mark.slow
def test_every_row_is_judged_as_it_should_be(tmp_path: Path) -> None:
    """All rows of agent and control plane pass but those that say why they do not."""
    with second_agent.servers(second_agent.SOURCE, tmp_path) as profile:
        found = second_agent.verdicts(profile, "AGENT", "CP")
    assert rows_of("AGENT", "CP") <= set(found)
    assert {row: verdict for row, verdict in found.items() if verdict != "pass"} == OTHERWISE


def test_every_breach_can_be_put_in(tmp_path: Path) -> None:
    """Each breach finds its text in the source, once, and the page tells the same rows."""
    page = (second_agent.SOURCE / "breaches.md").read_text("utf-8")
    for breach in second_agent.breaches():
        folder = tmp_path / breach.name
        shutil.copytree(second_agent.SOURCE, folder)
        breach.put_into(folder)
        assert f"| `{breach.name}` |" in page
        assert set(breach.rows) <= {
            row for line in page.splitlines() if f"`{breach.name}`" in line for row in line.replace(",", " ").split()
        }


@pytest.mark.slow
def test_a_breach_is_caught() -> None:
    """The control: an agent that takes any signature is found by the rows that the breach names."""
    breach = next(one for one in second_agent.breaches() if one.name == "signature-not-asked")
    assert tuple(second_agent.found_by(breach)) == breach.rows
