"""`weldproof vectors run` and `compare`, from the command line to their exit codes."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from conformance.cli import main
from conformance.vectors import Package
from conformance.vectors.runner import document
from tests.conformance.vectors.runner.made import FAMILIES, number, program, write_package

ROOT = Path(__file__).parents[3]
WRONG = """
def respond(asked):
    answer = right(asked)
    if asked["input"].get("value") in (1, 3):
        answer = {"n": asked["n"], "verdict": "valid", "values": {"half": 0}}
    say(answer)
"""
KNOWN_EXPLANATION = (
    '[[explained]]\nid = "numbers/parity/odd/n[13]"\nresult = "accepts"\nreason = "small odd numbers look even"\n'
)


def invoke(*words: object) -> Result:
    result = CliRunner().invoke(main, ["vectors", *(str(word) for word in words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A package of vectors."""
    return write_package(tmp_path / "package")


def test_a_right_verifier_passes_and_a_wrong_one_fails(folder: Path, tmp_path: Path) -> None:
    """With a table by family, a line a disagreement, and the seed to repeat it by."""
    good = invoke("run", "--package", folder, "--seed", 5, "--", *program(tmp_path))
    assert good.exit_code == 0, good.output
    assert good.stdout.splitlines()[-1] == "made 1: 12 of 12 agree; seed 5"
    bad = invoke("run", "--package", folder, *program(tmp_path, WRONG))
    assert bad.exit_code == 1
    assert re.search(
        r"^accepts +numbers/parity/odd/n1 .*to be refused at parity \(odd\); it says valid", bad.stdout, re.MULTILINE
    )
    assert re.search(r"^numbers +6 +2$", bad.stdout, re.MULTILINE)
    assert "10 of 12 agree, 2 unexplained; seed " in bad.stdout


def test_explanations_are_checked_both_ways(folder: Path, tmp_path: Path) -> None:
    """What is explained passes; when the verifier is mended, its entry fails the run until it is taken out."""
    file = tmp_path / "known.toml"
    file.write_text(KNOWN_EXPLANATION, "utf-8")
    known_result = invoke("run", "--package", folder, "--explained", file, *program(tmp_path, WRONG))
    assert known_result.exit_code == 0, known_result.output
    assert "10 of 12 agree, 2 explained" in known_result.stdout
    mended_result = invoke("run", "--package", folder, "--explained", file, *program(tmp_path))
    assert mended_result.exit_code == 1
    assert "rotten  numbers/parity/odd/n[13] = accepts" in mended_result.stdout
    part = invoke("run", "--package", folder, "--explained", file, "--family", "words", *program(tmp_path))
    assert part.exit_code == 0, part.output


def test_what_the_profile_decides_counts_where_it_is_asked_for(tmp_path: Path) -> None:
    """Shown in any case."""
    pinned_vectors = [number(1, pinned_members=["valid", "stage", "codes"]), number(2), number(5)]
    folder = write_package(
        tmp_path / "package", Package("1.0.0", {"numbers": FAMILIES["numbers"]}, tuple(pinned_vectors))
    )
    words = ("--package", folder, *program(tmp_path, WRONG))
    lenient = invoke("run", *words)
    assert lenient.exit_code == 0, lenient.output
    assert "only the profile decides: to be refused at parity" in lenient.stdout
    assert invoke("run", "--profile", *words).exit_code == 1


def test_a_part_can_be_chosen(folder: Path, tmp_path: Path) -> None:
    """By family and by pattern, each several times."""
    words = ("--package", folder, "--json")
    command = program(tmp_path)
    result = invoke("run", *words, "--family", "words", *command)
    assert {one["family"] for one in json.loads(result.stdout)["results"]} == {"words"}
    result = invoke("run", *words, "--id", "*/n1", "--id", "words/case/*", *command)
    assert [one["id"] for one in json.loads(result.stdout)["results"]] == [
        "numbers/parity/odd/n1",
        "words/case/high/high",
        "words/case/high/higher",
    ]


def test_the_result_can_be_written_and_printed(folder: Path, tmp_path: Path) -> None:
    """The same document, of the published schema, the same for the same seed."""
    file = tmp_path / "result.json"
    words = ("run", "--package", folder, "--seed", 1, "--json", "--report", file, *program(tmp_path, WRONG))
    first = invoke(*words)
    assert first.exit_code == 1
    assert first.stdout_bytes == file.read_bytes()
    value = json.loads(first.stdout)
    jsonschema.Draft202012Validator(document.schema()).validate(value)
    assert (value["exit_code"], value["vectors_version"]) == (1, "9.1.0")
    assert invoke(*words).stdout_bytes == first.stdout_bytes


def test_a_result_that_cannot_be_written_is_shown(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results are not lost with the file; a file that cannot be written is reported before anything is asked."""
    file = tmp_path / "result.json"
    words = ("run", "--package", folder, "--report", file, *program(tmp_path, WRONG))
    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", _disk_full)
        result = invoke(*words)
    assert (result.exit_code, "unexplained" in result.stdout, "No space left" in result.output) == (2, True, True)
    with monkeypatch.context() as patch:
        patch.setattr("os.access", lambda _, mode: mode != os.W_OK)
        result = invoke(*words)
    assert (result.exit_code, "cannot be written" in result.output, "unexplained" in result.output) == (2, True, False)


def _disk_full(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "after --"),
        (("--family", "poems", "true"), "no family poems; the families are numbers, words"),
        (("--id", "poems/*", "true"), "no vector poems/*"),
        (("--id", "words/*", "--family", "numbers", "true"), "no vector of these families"),
        (("--explained", "/nowhere.toml", "true"), "No such file"),
        (("--timeout", "0", "true"), "0"),
        (("--report", "/nowhere/result.json", "true"), "the folder does not exist"),
        (("--package", "/nowhere", "true"), "nowhere"),
    ],
)
def test_wrong_usage_is_told(folder: Path, words: tuple[str, ...], message: str) -> None:
    """Exit code 2 and a sentence."""
    result = invoke("run", *(() if "--package" in words else ("--package", folder)), *words)
    assert (result.exit_code, message in result.output) == (2, True), result.output


def test_a_file_that_explains_nothing_readable_is_wrong_usage(folder: Path, tmp_path: Path) -> None:
    """With the entry's number."""
    file = tmp_path / "known.toml"
    file.write_text(KNOWN_EXPLANATION.replace('reason = "small odd numbers look even"', 'reason = ""'), "utf-8")
    result = invoke("run", "--package", folder, "--explained", file, "true")
    assert (result.exit_code, "entry 1: reason" in result.output) == (2, True), result.output
    file.write_bytes(b"\xff")
    assert invoke("run", "--package", folder, "--explained", file, "true").exit_code == 2


@pytest.mark.parametrize("command", [("/nowhere/verifier",), ("true",), ("echo", "ready")])
def test_without_a_verifier_there_is_no_verdict(folder: Path, command: tuple[str, ...]) -> None:
    """Exit code 3, on standard error, and nothing on standard output."""
    result = invoke("run", "--package", folder, "--json", *command)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "no greeting" in result.stderr


def test_who_supports_nothing_gets_no_verdict(folder: Path, tmp_path: Path) -> None:
    """Exit code 3, and it is said."""
    habit = 'def respond(asked):\n    say({"n": asked["n"], "verdict": "unsupported"})\n'
    result = invoke("run", "--package", folder, *program(tmp_path, habit))
    assert (result.exit_code, "It judged nothing." in result.stdout) == (3, True)


def test_what_a_verifier_says_cannot_move_the_terminal(folder: Path, tmp_path: Path) -> None:
    """Nor be taken for markup."""
    habit = r"""
def hello():
    say({"verifier": "\x1b[2J[bold]x", "families": ["words"]})
def respond(asked):
    say({"n": asked["n"], "verdict": "invalid", "codes": ["\x1b]0;x\x07"], "why": "[red]\u202e"})
"""
    result = invoke("run", "--package", folder, *program(tmp_path, habit))
    assert "[bold]x" in result.stdout
    assert not set("\x1b\x07\u202e") & set(result.stdout)


def test_an_interruption_ends_the_verifier_and_tells_what_was_judged(folder: Path, tmp_path: Path) -> None:
    """Exit code 130; the result so far is printed; the verifier is gone."""
    mark = tmp_path / "pid"
    habit = f"""
def respond(asked):
    if asked["n"] == 4:
        open({str(mark)!r} + ".part", "w").write(str(os.getpid()))
        os.rename({str(mark)!r} + ".part", {str(mark)!r})
        time.sleep(1e6)
    say(right(asked))
"""
    words = ("vectors", "run", "--package", str(folder), "--json", "--timeout", "600", "--", *program(tmp_path, habit))
    with subprocess.Popen(
        [sys.executable, "-m", "conformance", *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        while not mark.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    value = json.loads(out)
    assert (value["interrupted"], len(value["results"])) == (True, 3)
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text("ascii")), 0)


def test_results_stand_side_by_side(folder: Path, tmp_path: Path) -> None:
    """On the console, as JSON and as a page."""
    for name, habit in (("right", ""), ("wrong", WRONG)):
        invoke("run", "--package", folder, "--report", tmp_path / f"{name}.json", *program(tmp_path, habit))
    files = (tmp_path / "right.json", tmp_path / "wrong.json")
    result = invoke("compare", *files, "--html", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    assert re.search(r"^  parity/odd +agree 4 +agree 2, accepts 2", result.stdout, re.MULTILINE)
    assert re.search(r"^    numbers/parity/odd/n3 +agree +accepts", result.stdout, re.MULTILINE)
    assert "valid/low" in result.stdout
    assert "valid/low" not in invoke("compare", *files, "--differing").stdout
    assert b"numbers/parity/odd/n3" in (tmp_path / "page.html").read_bytes()
    document = json.loads(invoke("compare", *files, "--json").stdout)
    assert document["families"][0]["results"] == [{"agree": 8}, {"agree": 6, "accepts": 2}]


def test_what_is_no_result_does_not_stand_beside_one(folder: Path, tmp_path: Path) -> None:
    """Exit code 2 names the file; results of other vectors are refused, too."""
    (tmp_path / "other.json").write_text("{}", "utf-8")
    result = invoke("compare", tmp_path / "other.json")
    assert (result.exit_code, "other.json" in result.output) == (2, True)
    assert invoke("compare", tmp_path / "nowhere.json").exit_code == 2
    assert invoke("compare").exit_code == 2
    invoke("run", "--package", folder, "--report", tmp_path / "a.json", *program(tmp_path))
    text = (tmp_path / "a.json").read_text("utf-8")
    (tmp_path / "b.json").write_text(text.replace('"9.1.0"', '"9.2.0"'), "utf-8")
    result = invoke("compare", tmp_path / "a.json", tmp_path / "b.json")
    assert (result.exit_code, "different versions" in result.output) == (2, True)
