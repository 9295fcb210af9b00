"""Our own verifier under the line protocol: every family has a judge, and a fault in one is not hidden."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.vectors import package
from conformance.vectors.judges import Verdict, __main__, table

ROOT = Path(__file__).parents[4]


def answers(*questions: Mapping[str, Any]) -> list[dict[str, Any]]:
    out = io.StringIO()
    __main__.serve([json.dumps(one) for one in questions], out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_every_family_of_the_package_has_a_judge() -> None:
    """None of them is quietly unsupported."""
    assert set(package().families) <= set(table.FAMILIES)
    assert all(callable(table.judge(name)) for name in table.FAMILIES)
    assert table.judge("poems") is None


def test_it_says_what_it_is_and_leaves_alone_what_it_does_not_know() -> None:
    """The greeting names every family; another family's vector is unsupported."""
    greeted, replies = answers(
        {"protocol": "weldproof-vectors/1", "families": ["poems"]}, {"n": 1, "family": "poems", "input": {}}
    )
    assert greeted["verifier"].startswith("weldproof ")
    assert list(table.FAMILIES) == greeted["families"]
    assert replies == {"n": 1, "verdict": "unsupported"}


def test_a_verdict_is_told_with_everything_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stage, codes and values of a refusal; values of what holds."""
    verdicts = {"yes": Verdict.holds(size=2), "no": Verdict.refuse("door", "SHUT", size=3)}
    monkeypatch.setattr(__main__, "judge", lambda family: lambda given: verdicts[given["which"]] if family else None)
    assert answers(*({"n": n, "family": "x", "input": {"which": one}} for n, one in enumerate(verdicts, 1))) == [
        {"n": 1, "verdict": "valid", "values": {"size": 2}},
        {"n": 2, "verdict": "invalid", "stage": "door", "codes": ["SHUT"], "values": {"size": 3}},
    ]


def test_a_fault_in_a_judge_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no verdict."""

    def raise_fault(_: Mapping[str, Any]) -> Verdict:
        raise KeyError("missing")

    monkeypatch.setattr(__main__, "judge", lambda _: raise_fault)
    with pytest.raises(KeyError):
        answers({"n": 1, "family": "x", "input": {}})


def test_as_a_process_it_answers_each_line_at_once_and_exits_0_at_the_end() -> None:
    """One line in, one line out, before the next is asked."""
    with subprocess.Popen(
        [sys.executable, "-m", "conformance.vectors.judges"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for questions, member in (({"protocol": "x"}, "verifier"), ({"n": 1, "family": "?", "input": {}}, "n")):
            process.stdin.write(json.dumps(questions) + "\n")
            process.stdin.flush()
            assert member in json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait(600) == 0


def test_it_agrees_on_every_vector_by_the_profile() -> None:
    """As any user would run it, over the whole package."""
    command = (sys.executable, "-m", "conformance.vectors.judges")
    result = CliRunner().invoke(main, ["vectors", "run", "--profile", "--seed", "1", "--json", "--", *command])
    document = json.loads(result.stdout)
    assert [one for one in document["results"] if one["result"] != "agree"] == []
    assert (len(package().vectors), 0, 1) == (len(document["results"]), result.exit_code, document["starts"])
