"""`report diff` and `report matrix`: what runs judged beside each other, and what they did not."""

from __future__ import annotations

import json
from pathlib import Path

from conformance.outcome import Verdict
from tests.conformance.cli.test_report_command import ROWS, run_command, save_run
from tests.conformance.report.run_builder import JUDGED, PASSED, RunBuilder, every_verdict


def test_diff_compares_what_both_runs_judged(tmp_path: Path) -> None:
    """A row that one run did not judge is named apart, whichever it is, and counts as no difference of verdicts."""
    before = save_run(tmp_path / "a", RunBuilder(ROWS).finish({ROWS[0]: Verdict.FAIL, ROWS[2]: Verdict.INCONCLUSIVE}))
    after = save_run(tmp_path / "b", RunBuilder(ROWS).finish({ROWS[1]: Verdict.NOT_APPLICABLE}))
    result = run_command("diff", before, after)
    lines = result.output.splitlines()[3:]
    assert [line[:19].strip() for line in lines] == [
        "RAIL-402-01",
        "judged in the run b",
        "worse  RAIL-402-02",
        "judged in the run a",
        "RAIL-402-03",
        "1 requirements were",
        "1 verdicts differ,",
    ]
    assert lines[-1] == "1 verdicts differ, 0 of them worse; 1 worse because they are not judged any more"
    assert result.exit_code == 1
    value = json.loads(run_command("diff", before, after, "--json").output)
    assert (value["judged_by_both"], value["judged_only"]) == (1, {"before": [ROWS[1]], "after": [ROWS[2]]})


def test_diff_leaves_out_what_neither_run_judged(tmp_path: Path) -> None:
    """An undecided row that becomes another kind of undecided is neither worse nor shown."""
    before = save_run(tmp_path / "a", RunBuilder(ROWS).finish({ROWS[0]: Verdict.NOT_APPLICABLE}))
    after = save_run(tmp_path / "b", RunBuilder(ROWS).finish({ROWS[0]: Verdict.INCONCLUSIVE}))
    result = run_command("diff", before, after)
    assert (result.exit_code, ROWS[0] in result.output) == (0, False)
    assert "2 requirements were judged in both runs\nno verdict differs" in result.output


def test_matrix_has_a_line_a_surface(tmp_path: Path) -> None:
    """Markdown and page have a line a surface and a column a run, with what speaks against it."""
    first = save_run(tmp_path / "a", every_verdict())
    second = save_run(tmp_path / "b", RunBuilder(ROWS, target="an<other> | server").finish({}))
    output = run_command("matrix", first, second, "--format", "markdown").output.replace("\\", "").splitlines()
    assert output[0] == "| | test target | an&lt;other&gt; | server |"
    assert output[2] == "| **outcome** | Fault in the suite | Passed |"
    assert output[3:] == [
        "| Payment gateway | - | - |",
        f"| Pay-per-call rail | {PASSED}/{JUDGED} (2 fail, 1 warn, 1 undecided) | 3/3 |",
    ]
    page = run_command("matrix", first, second, "--format", "html").output
    assert "an&lt;other&gt; | server" in page
    assert f'<td class="v-error"><b>{PASSED}/{JUDGED}</b><span>2 fail, 1 warn, 1 undecided</span></td>' in page
    assert '<td class="v-pass"><b>3/3</b></td>' in page
    value = json.loads(run_command("matrix", first, second, "--by", "surface", "--format", "json").output)
    assert value["rows"]["Pay-per-call rail"] == [f"{PASSED}/{JUDGED}", "3/3"]
    assert value["cells"]["Payment gateway"][0] == {"text": "-", "beside": "", "tone": None}
    assert [one["target"] for one in value["runs"]] == ["test target", "an<other> | server"]


def test_a_quick_look_is_green_in_no_matrix(tmp_path: Path) -> None:
    """It found nothing; that is no pass, in no word and in no colour."""
    quick = save_run(tmp_path / "a", RunBuilder(ROWS, quick=True).finish({}))
    assert "v-pass" not in run_command("matrix", quick, "--format", "html").output.partition("<body>")[2]
    assert json.loads(run_command("matrix", quick, "--rows", "--json").output)["rows"][ROWS[0]] == ["no breach"]
