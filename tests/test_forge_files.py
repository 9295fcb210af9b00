"""What a forge reads of this repository is of the form that it wants: workflows, templates, hooks."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are no dependency of ours
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner
from pre_commit.clientlib import load_config

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
# The schemas come with check-jsonschema, so nothing is asked of a network.
SCHEMAS = [
    *((path, "vendor.github-workflows") for path in WORKFLOWS),
    *((path, "custom.github-workflows-require-timeout") for path in WORKFLOWS),
    *((path, "vendor.github-issue-config" if path.stem == "config" else "vendor.github-issue-forms") for path in FORMS),
]


def read(path: Path) -> Any:
    """Return a YAML file's value; `on` stays a word."""
    return yaml.load(path.read_text("utf-8"), yaml.BaseLoader)  # noqa: S506 - the base loader makes text alone


def faults(path: Path, schema: str) -> str:
    """Return what a schema says against a file; nothing where it holds."""
    result = CliRunner().invoke(check_jsonschema, ["--builtin-schema", schema, str(path)])
    return "" if result.exit_code == 0 else result.output


@pytest.mark.parametrize(("path", "schema"), SCHEMAS, ids=lambda value: getattr(value, "name", value))
def test_it_is_of_its_schema(path: Path, schema: str) -> None:
    """Each file holds against the schema that is published for its kind."""
    assert faults(path, schema) == ""


def test_a_schema_refuses_what_is_wrong(tmp_path: Path) -> None:
    """A workflow without jobs, and a form without a body, are noticed."""
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("name: CI\non: push\n", "ascii")
    assert "jobs" in faults(wrong, "vendor.github-workflows")
    assert "body" in faults(wrong, "vendor.github-issue-forms")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_read_and_no_more(path: Path) -> None:
    """No job may write or is privileged, a clone keeps no credentials, actions and images are pinned by digest."""
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        assert "--privileged" not in job["container"]["options"]
        assert re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", job["container"]["image"])
        for step in (one for one in job["steps"] if "uses" in one):
            assert re.fullmatch(r"[\w.-]+(/[\w.-]+)+@[0-9a-f]{40}", step["uses"])
            if step["uses"].startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] == "false"


def test_the_gate_is_the_one_of_any_machine() -> None:
    """The workflow calls `.ci/run` as it is; which parts rotate is left to the day."""
    steps = read(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["gate"]["steps"]
    assert [step["run"] for step in steps if ".ci/" in step.get("run", "")] == [".ci/run"]
    assert "ROTATE" not in (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")


def test_hooks_are_the_environments_own_tools() -> None:
    """Hooks are of the form that pre-commit wants, and run what uv.lock pins: no other version can differ from CI's."""
    config = load_config(ROOT / ".pre-commit-config.yaml")
    hooks = {hook["id"]: hook for repository in config["repos"] for hook in repository["hooks"]}
    assert {repository["repo"] for repository in config["repos"]} == {"local"}
    assert {"ruff", "ruff-format", "lint-imports", "mypy"} <= set(hooks)
    for hook in hooks.values():
        program = shlex.split(hook["entry"])[0]
        assert program.startswith(".venv/bin/")
        assert hook["language"] in {"system", "unsupported"}
    lock_text = (ROOT / "uv.lock").read_text("utf-8")
    assert all(f'name = "{name}"' in lock_text for name in ("ruff", "mypy", "import-linter", "pytest"))
