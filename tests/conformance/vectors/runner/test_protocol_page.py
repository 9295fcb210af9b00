"""The page that specifies the line protocol says what the run does."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from importlib.resources import files
from pathlib import Path

from conformance import vectors
from conformance.outcome import Exit
from conformance.vectors.runner import explanations, protocol
from conformance.vectors.runner.judging import Outcome
from conformance.vectors.runner.running import FAILURES_IN_A_ROW, Plan, Runner
from tests.conformance.vectors.runner.made import FAMILIES, VECTORS

PAGE = files(vectors).joinpath("PROTOCOL.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return [re.sub(r"(?m)^   ", "", one) for one in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)]


def test_it_has_every_result_and_every_exit_code() -> None:
    """No more and no less."""
    results = PAGE.partition("\n## Known disagreements\n")[0].rpartition("\n## ")[2]
    assert re.findall(r"(?m)^\| `([a-z-]+)` \|", results) == [one.value for one in Outcome]
    codes = {Exit.PASSED, Exit.FAILED, Exit.USAGE, Exit.NO_VERDICT, Exit.INTERRUPTED}
    assert re.findall(r"(?m)^\| (\d+) \|", PAGE) == [str(int(one)) for one in sorted(codes)]


def test_its_bounds_are_those_of_the_run() -> None:
    """Line length, failures in a row, seconds."""
    assert f"{protocol.LONGEST_LINE:,} bytes" in PAGE
    assert FAILURES_IN_A_ROW == 10
    assert "After ten such failures in a row" in PAGE
    plan = Plan(("x",), FAMILIES, VECTORS, 1)
    assert f"`--timeout`, {plan.seconds:g} s by default" in PAGE
    assert f"`--start-timeout`, {plan.start_seconds:g} s" in PAGE


def test_its_lines_are_lines_of_the_protocol() -> None:
    """What is shown can be read, but for what an ellipsis leaves out."""
    greeting_lines, question = (block.replace("[…]", "[]").splitlines() for block in blocks("json"))
    assert json.loads(greeting_lines[0]) == json.loads(protocol.encode_greeting(["receipts", "canonical_json"]))
    assert protocol.parse_hello(greeting_lines[1].encode()).families == ("receipts",)
    question_document = json.loads(question[0])
    assert list(question_document) == list(
        json.loads(protocol.encode_question(1, "receipts", question_document["input"]))
    )
    assert protocol.parse_answer(question[1].encode(), 1).stage == "signature"


def test_its_explanations_can_be_read() -> None:
    """Both kinds of entry, and one that does not hold everywhere."""
    (text,) = blocks("toml")
    explanation_list = explanations.read(text)
    assert [one.subject for one in explanation_list] == ["receipts/canonical/*", "family welds", "receipts/signature/*"]
    assert [bool(one.depends_on) for one in explanation_list] == [False, False, True]


def test_its_verifier_answers_by_the_rules(tmp_path: Path) -> None:
    """As printed; it judges nothing yet."""
    (text,) = blocks("python")
    path = tmp_path / "verifier.py"
    path.write_text(text.replace("canonical_json", "numbers"), "utf-8")
    run = asyncio.run(Runner(Plan((sys.executable, "-I", str(path)), FAMILIES, VECTORS, 1, 120.0, 120.0)).ask_all())
    assert {one.outcome for one in run.results} == {Outcome.UNSUPPORTED}
    assert (run.ending.clean, run.starts, run.hello.verifier) == (True, 1, "mine 0.1")
