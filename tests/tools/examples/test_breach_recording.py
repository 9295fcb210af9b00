"""Which mutant gives the example of a row, and what is taken from a run of it; nothing is started here."""

from __future__ import annotations

from conformance.outcome import Verdict
from conformance.selftest.kill_lists import KillList, load_kill_lists
from tests.conformance.report.run_builder import RunBuilder
from tools.examples.breach_recording import Job, choose_mutants, examples, jobs

ROWS = ("RAIL-WELD-01", "RAIL-WELD-02", "RAIL-WELD-05")
KILL = KillList("note-ignored", "the note is the token", "RAIL", ROWS[0], {ROWS[1]: "likewise"})


def test_every_row_that_a_mutant_breaks_has_one() -> None:
    """Its own mutant before one that it only sees, too."""
    lists, chosen_mutants = load_kill_lists(), choose_mutants()
    own = {kill.caught_by for kill in lists}
    assert chosen_mutants.keys() == own | {row for kill in lists for row in kill.also}
    assert all(chosen_mutants[row].caught_by == row for row in own)


def test_jobs_of_one_stack_are_together() -> None:
    """So that its chains stay warm; a row that no mutant breaks is passed over."""
    job_list = jobs(["RAIL-WELD-01", "AGENT-HTTP-01", "RAIL-WELD-02", "GW-DOC-01", "CP-HEALTH-01"], apart=False)
    assert {row for one in job_list for row in one.rows} == {
        "RAIL-WELD-01",
        "AGENT-HTTP-01",
        "RAIL-WELD-02",
        "CP-HEALTH-01",
    }
    assert [one.surfaces for one in job_list] == [("agent",), ("control_plane",), ("rail",), ("rail",)]


def test_an_example_is_the_first_breach_with_an_exchange() -> None:
    """Rows that pass, breaches without an exchange, and rows of other jobs give none."""
    run = RunBuilder(ROWS)
    run.judge(ROWS[0], Verdict.FAIL, found_text="nothing to show")
    number = run.exchange("a_check")
    run.judge(ROWS[0], Verdict.PASS, exchange=number)
    run.judge(ROWS[0], Verdict.FAIL, found_text="served", exchange=number, where={"lane": "algorand"})
    run.judge(ROWS[0], Verdict.FAIL, found_text="served again", exchange=number)
    run.judge(ROWS[1], Verdict.PASS, exchange=number)
    run.judge(ROWS[2], Verdict.FAIL, found_text="served", exchange=number)
    (example,) = examples(Job(KILL, ROWS[:2], ("rail",), apart=False), run.log.events)
    assert (example.row, example.mutant, example.found, example.case) == (
        ROWS[0],
        "note-ignored",
        "served",
        "lane algorand",
    )
    (_, request), (_, response) = example.exchange
    assert request.startswith("POST /pay/v1/x\ncontent-type: application/json\nx-payment: $X_PAYMENT\n")
    assert response.startswith("200 OK\n")
