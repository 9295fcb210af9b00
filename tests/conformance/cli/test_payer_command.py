"""`weldproof run PAYER -- COMMAND` plays a rail for a payer, and docs/testing-payers.md says how."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import target
from conformance.surfaces.payer import scenes
from tests import prepared

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "testing-payers.md").read_text("utf-8")
CHAPTER = (DOCS / "spec" / "10-payers.md").read_text("utf-8")
PAYER = (sys.executable, "-m", "reference.variants.payer")


def run_command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    return prepared.run("conformance", "run", *words, env=os.environ, cwd=folder, timeout=600)


def read_verdicts(folder: Path) -> dict[str, str]:
    """Return the verdict of each row of the last run."""
    results = json.loads((folder / "report" / "report.json").read_text("utf-8"))["results"]["tests"]
    return {test["name"].partition(":")[0]: test["extra"]["verdict"] for test in results}


def test_a_payer_that_pays_and_refuses_passes(tmp_path: Path) -> None:
    """On a chain that the run starts, by a command after the dashes."""
    result = run_command(tmp_path, "PAYER-PAY", "PAYER-OFFER-01", "--lane", "base", "--", *PAYER)
    assert result.returncode == 0, result.stdout + result.stderr
    assert set(read_verdicts(tmp_path).values()) == {"pass"}


def test_a_payer_that_never_pays_passes_nothing(tmp_path: Path) -> None:
    """The honest call fails, and its refusals decide nothing; the profile names the command, and a rail that is off."""
    words = json.dumps([sys.executable, "-c", "import sys; sys.exit('no')"])
    profile = f"""
[surfaces.rail]
url = "http://127.0.0.1:9"
[claims]
surfaces = ["rail"]
lanes = ["base"]
[payer]
command = {words}
"""
    (tmp_path / "weldproof.toml").write_text(profile, "utf-8")
    result = run_command(tmp_path, "PAYER-PAY", "PAYER-OFFER-01")
    assert result.returncode == 1, result.stdout + result.stderr
    verdicts = read_verdicts(tmp_path)
    assert verdicts["PAYER-PAY-01"] == verdicts["PAYER-PAY-02"] == "fail"
    assert verdicts["PAYER-OFFER-01"] == "inconclusive"


# A payer that asks for the price, and ends with a failure.
ASKS_ONLY = (
    sys.executable,
    "-c",
    (
        "import os, urllib.request; open_file = open(os.environ['WELDPROOF_PAYER_BODY_FILE'], 'rb'); "
        "urllib.request.urlopen(os.environ['WELDPROOF_PAYER_URL'], data=open_file.read())"
    ),
)


def test_the_printed_replay_of_a_payer_repeats_its_call(tmp_path: Path) -> None:
    """The line names the payer's command, and the replay starts the payer and a chain as the run did."""
    result = run_command(tmp_path, "PAYER-PAY-01", "--lane", "base", "--", *ASKS_ONLY)
    assert result.returncode == 1, result.stdout + result.stderr
    line = re.search(r"replay +weldproof (replay report#.*)", result.stdout)
    assert line is not None, result.stdout
    words = shlex.split(line[1])
    assert words[-len(ASKS_ONLY) :] == list(ASKS_ONLY)
    again = prepared.run("conformance", *words, env=os.environ, cwd=tmp_path, timeout=600)
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.stdout.count(" fail: expected ") == 2


def test_a_payer_is_not_called_by_the_name_of_a_server(tmp_path: Path) -> None:
    """A profile of a server keeps its name for that server."""
    profile = '[target]\nname = "my agent"\n[surfaces.agent]\nurl = "http://127.0.0.1:9"\n'
    (tmp_path / "weldproof.toml").write_text(profile, "utf-8")
    result = run_command(tmp_path, "PAYER-PAY-01", "--lane", "base", "--", *ASKS_ONLY)
    assert "  a payer, seed " in result.stdout
    assert "my agent" not in result.stdout
    assert "--config weldproof.toml -- " in result.stdout


def test_the_payer_of_a_whole_reference_has_nodes_of_its_own(tmp_path: Path) -> None:
    """Other checks may stop the nodes of the rail, and move its clock, while it pays. A control plane has no nodes."""
    result = run_command(tmp_path, "PAYER-PAY-01", "CP-POST-01", "--reference", "--lane", "base")
    assert result.returncode == 0, result.stdout + result.stderr
    assert set(read_verdicts(tmp_path).values()) == {"pass"}
    report = json.loads((tmp_path / "report" / "report.json").read_text("utf-8"))
    values = dict(report["results"]["extra"]["non_defaults"])
    assert "payer.chains.base.rpc" in values


def test_without_a_command_one_is_asked_for(tmp_path: Path) -> None:
    """Exit code 2, with an example."""
    result = run_command(tmp_path, "PAYER")
    assert result.returncode == 2
    assert "weldproof run PAYER -- " in result.stderr


# Long enough for a busy machine.
PATIENT_PAYER = '[claims]\nsurfaces = ["payer"]\nlanes = ["base"]\n[payer]\nseconds = 300\n'
STOCK = (sys.executable, str(Path(__file__).parents[3] / "examples" / "payers" / "stock_x402.py"))


def test_a_stock_client_is_judged_by_a_rail_without_a_weld(tmp_path: Path) -> None:
    """The x402 package pays, keeps its limit and knows its asset; rows about the weld do not apply."""
    (tmp_path / "weldproof.toml").write_text(PATIENT_PAYER, "utf-8")
    rows = ("PAYER-PAY", "PAYER-OFFER-01", "PAYER-OFFER-02", "PAYER-OFFER-11", "PAYER-RCPT")
    result = run_command(tmp_path, *rows, "--stock", "--", *STOCK, "httpx")
    assert result.returncode == 0, result.stdout + result.stderr
    verdicts = read_verdicts(tmp_path)
    absent = {row for row, verdict in verdicts.items() if verdict == "not_applicable"}
    assert absent == {"PAYER-PAY-04", "PAYER-PAY-05", "PAYER-OFFER-11", *(f"PAYER-RCPT-0{n}" for n in (1, 2, 3))}
    assert {verdicts[row] for row in verdicts.keys() - absent} == {"pass"}


def test_a_payer_of_welds_is_no_stock_client(tmp_path: Path) -> None:
    """It finds no token in the offer, so the honest call fails and the form of the rail is shown to matter."""
    (tmp_path / "weldproof.toml").write_text(PATIENT_PAYER, "utf-8")
    result = run_command(tmp_path, "PAYER-PAY-01", "--stock", "--", *PAYER)
    assert result.returncode == 1, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("PAYER", "--stock", "--lane", "algorand", "--", "pay"), "without a weld on base only"),
        (("RAIL", "--stock"), "--stock is for a payer"),
        (("PAYER", "--stock", "--reference"), "--stock is for a payer"),
    ],
)
def test_a_stock_client_is_a_payer_on_base(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    """Anything else is an error of usage."""
    result = run_command(tmp_path, *words)
    assert (result.returncode, message in result.stderr) == (2, True), result.stderr


def test_the_page_and_the_chapter_list_the_variables_that_are_set() -> None:
    """Each variable once, and no other."""
    source = Path(scenes.__file__).read_text("utf-8")
    names = set(re.findall(r'^ +"([A-Z_]+)": ', source, re.MULTILINE)) | {
        "BODY_FILE",
        "ACCOUNT_FILE",
        "NODE_TOKEN_FILE",
        "NODE_WS",
    }
    for text in (PAGE, CHAPTER):
        assert set(re.findall(r"^\| `WELDPROOF_PAYER_([A-Z_]+)` \|", text, re.MULTILINE)) == names


def test_the_profile_on_the_page_can_be_read() -> None:
    """It claims the payer and names its command."""
    found = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    profile = target.parse(found[1])
    assert profile.claims_surface("payer")
    assert profile.payer.command == ("python", "pay.py")
