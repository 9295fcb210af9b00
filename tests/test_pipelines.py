"""The action and the pipelines of examples/ci: of their schemas, and what they run runs, against a small agent."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are no dependency of ours
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner

from tests import prepared
from tests.conformance.served import serve
from tests.stack import running_stack

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "ci"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
ACTION = yaml.load((ROOT / "action.yml").read_text("utf-8"), yaml.BaseLoader)  # noqa: S506 - text alone
SCHEMAS = {
    ROOT / "action.yml": "vendor.github-actions",
    EXAMPLES / "github.yml": "vendor.github-workflows",
    EXAMPLES / "gitlab.yml": "vendor.gitlab-ci",
    EXAMPLES / "azure.yml": "vendor.azure-pipelines",
}
SNIPPETS = [*SCHEMAS, EXAMPLES / "Containerfile", EXAMPLES / "README.md"]
# The rows that are judged here: a second, where all of an agent's take long.
ROWS = "AGENT-SIGN"


@pytest.mark.parametrize(("path", "schema"), SCHEMAS.items(), ids=lambda value: getattr(value, "name", value))
def test_it_is_of_its_schema(path: Path, schema: str) -> None:
    """Each file holds against the schema that is published for its kind."""
    # Azure's schema has patterns that are invalid in Unicode mode.
    words = ["--regex-variant", "nonunicode", "--builtin-schema", schema, str(path)]
    result = CliRunner().invoke(check_jsonschema, words)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.name)
def test_it_names_this_version_and_pins_all_others(path: Path) -> None:
    """What is installed is the version of pyproject.toml; actions of others are pinned by commit, images by digest."""
    text = path.read_text("utf-8")
    ours = re.findall(r"(?:weldproof\[all\]==|OWNER/weldproof@v|weldproof-|REPOSITORY_URL@v)(\d[\d.]*\d)", text)
    assert set(ours) <= {PROJECT["project"]["version"]}
    for used in re.findall(r"uses: (\S+)", text):
        ours_or_pinned = r"OWNER/weldproof@v\d+\.\d+\.\d+|[\w.-]+(/[\w.-]+)+@[0-9a-f]{40}"
        assert re.fullmatch(ours_or_pinned, used), used
    for image in re.findall(r"(?:^FROM|^ +image:) (\S+)", text, re.MULTILINE):
        assert re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image), image


@dataclass
class Job:
    """A job on a machine of a test's, as far as the scripts of a composite action ask for one.

    Attributes:
        folder: Its workspace.
        programs: Folder of what its environment has.
        inputs: What the action is given.
        outputs: Outputs of each step that ran, by the step's id.
        printed: Output of each step that ran, by the step's id.
    """

    folder: Path
    programs: Path
    inputs: Mapping[str, str]
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """What the steps wrote into the job's summary."""
        return (self.folder / ".summary").read_text("utf-8")

    def run(self, name: str) -> int:
        """Run one step's script as a forge does; return its exit code."""
        (step,) = (one for one in ACTION["runs"]["steps"] if one["id"] == name)
        step_environment = {key: self._fill_expressions(value) for key, value in step.get("env", {}).items()}
        files = {key: str(self.folder / f".{key}") for key in ("output", "summary")}
        forge = {"GITHUB_OUTPUT": files["output"], "GITHUB_STEP_SUMMARY": files["summary"]}
        for file in files.values():
            Path(file).touch()
        Path(files["output"]).write_text("", "ascii")
        result = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder / self._fill_expressions(step.get("working-directory", ".")),
            env={**os.environ, **step_environment, **forge},
            capture_output=True,
            text=True,
            check=False,
        )
        lines = Path(files["output"]).read_text("utf-8").splitlines()
        self.outputs[name] = dict(line.split("=", 1) for line in lines)
        self.printed[name] = result.stdout + result.stderr
        return result.returncode

    def _fill_expressions(self, text: str) -> str:
        return re.sub(r"\$\{\{ (.+?) \}\}", lambda found: self._value(found[1]), text)

    def _value(self, expression: str) -> str:
        for part in expression.split(" || "):
            kind, _, name = part.partition(".")
            if kind == "steps":
                step, _, output = name.partition(".outputs.")
                value = self.outputs.get(step, {}).get(output, "")
            else:
                default = {one: told["default"] for one, told in ACTION["inputs"].items()}
                known_values = {"action_path": str(ROOT), "temp": str(self.folder / ".temp")}
                value = {"inputs": {**default, **self.inputs}, "github": known_values, "runner": known_values}[kind][
                    name
                ]
            if value:
                return value
        return ""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a folder with this tree's `weldproof`, with few rows, and where pip and apt-get do nothing."""
    folder = tmp_path / "programs"
    folder.mkdir()
    prepared.script(folder / "prepared", "conformance")
    source = f'export PYTHONPATH="{ROOT}" LC_ALL=C.UTF-8\n'
    for name, text in {
        "weldproof": f'exec "{folder}/prepared" "$@" $ROWS\n',
        "pip": "exit 0\n",
        "apt-get": "exit 0\n",
        "python": f'{source}exec "{sys.executable}" "$@"\n',
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}", "utf-8")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder of an agent's profile, while the agent runs."""
    folder = tmp_path_factory.mktemp("agent")
    with running_stack(folder, "--surface", "agent", "--lane", "algorand") as ready:
        assert Path(ready["profile"]) == folder / "weldproof.toml"
        yield folder


def environment(job: Job) -> None:
    """Put this tree's programs where the action has its environment."""
    binaries = job.folder / ".temp" / "weldproof-environment" / "bin"
    binaries.mkdir(parents=True)
    for name in ("python", "weldproof"):
        (binaries / name).symlink_to(job.programs / name)


def test_the_action_shows_that_a_server_is_right(agent: Path, programs: Path) -> None:
    """A run without a breach ends with 0; its summary says so, its reports are there, and no error is shown."""
    job = Job(agent, programs, {"select": ROWS, "levels": "MUST SHOULD", "lanes": "algorand"})
    environment(job)
    assert job.run("run") == 0, job.printed["run"]
    assert job.outputs["run"] == {"exit-code": "0", "reported": "true"}
    assert job.run("show") == 0, job.printed["show"]
    assert "::error" not in job.printed["show"]
    assert "11 of 11 judged requirements pass" in job.summary
    assert job.run("verdict") == 0
    for name in ("index.html", "junit.xml", "report.json", "report.sarif", "report.md"):
        assert (agent / "weldproof-report" / name).stat().st_size


def test_the_action_shows_what_a_server_breaks(tmp_path: Path, programs: Path) -> None:
    """A breach keeps no report from being shown; the last step ends as the run did."""
    with serve(lambda *_: (200, {})) as wrong:
        words = {"profile": "", "select": "AGENT-CARD", "arguments": f"--target agent={wrong.url} --timeout 5"}
        job = Job(tmp_path, programs, words)
        environment(job)
        assert job.run("run") == 0, job.printed["run"]
    assert job.outputs["run"] == {"exit-code": "1", "reported": "true"}
    assert job.run("show") == 0, job.printed["show"]
    assert "::error title=AGENT-CARD-" in job.printed["show"]
    assert "::warning title=AGENT-CARD-03" in job.printed["show"]
    assert "0 of 3 judged requirements pass, 2 fail, 1 warn" in job.summary
    assert job.run("verdict") == 1


def test_a_run_that_cannot_begin_is_no_success(tmp_path: Path, programs: Path) -> None:
    """Without its profile the run ends with 2, nothing is shown, and the action ends with 2."""
    job = Job(tmp_path, programs, {})
    environment(job)
    assert job.run("run") == 0
    assert job.outputs["run"] == {"exit-code": "2"}
    assert job.run("verdict") == 2


def test_what_the_action_installs_decides_its_cache(tmp_path: Path, programs: Path) -> None:
    """A version has its name as key; a source has another after each change of a file in it."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.py").write_text("1\n", "ascii")

    def make_keys(**inputs: str) -> tuple[str, str]:
        job = Job(tmp_path, programs, inputs)
        assert job.run("source") == 0, job.printed["source"]
        return job.outputs["source"]["wanted"], job.outputs["source"]["key"]

    assert make_keys(version="0.1.0", extras="base,fuzz") == ("weldproof[base,fuzz]==0.1.0", "0.1.0-base-fuzz")
    assert make_keys(version="0.1.0", extras="") == ("weldproof==0.1.0", "0.1.0-")
    first = make_keys(path="source")
    assert first == make_keys(path=str(source))
    assert first[0] == f"{source}[all]"
    (source / "a.py").write_text("2\n", "ascii")
    assert make_keys(path="source")[1] != first[1]


def test_the_action_installs_what_was_not_kept(tmp_path: Path, programs: Path) -> None:
    """Without a kept environment one is made and the wanted thing installed into it; a kept one is taken as it is."""
    record_file = tmp_path / "recorded"
    stub_program = 'case "$2" in venv) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;; esac\n'
    (programs / "python").write_text(f'#!/bin/sh\necho "$*" >>"{record_file}"\n{stub_program}', "utf-8")
    place = tmp_path / ".temp" / "weldproof-environment"
    job = Job(tmp_path, programs, {})
    job.outputs |= {
        "python": {"python-path": str(programs / "python")},
        "source": {"wanted": "weldproof[all]==0.1.0"},
        "cache": {},
    }
    assert job.run("install") == 0, job.printed["install"]
    pip = "-m pip install --quiet --disable-pip-version-check weldproof[all]==0.1.0"
    assert record_file.read_text("utf-8").splitlines() == [f"-m venv {place}", pip]
    record_file.unlink()
    job.outputs["cache"] = {"cache-hit": "true"}
    assert job.run("install") == 0
    assert not record_file.exists()


def test_the_action_installs_its_own_source_by_hashes(tmp_path: Path, programs: Path) -> None:
    """With all extras the locked packages are installed with their hashes, then the source without dependencies."""
    record_file = tmp_path / "recorded"
    stub_program = 'case "$2" in venv) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;; esac\n'
    (programs / "python").write_text(f'#!/bin/sh\necho "$*" >>"{record_file}"\n{stub_program}', "utf-8")
    job = Job(tmp_path, programs, {"path": ""})
    assert job.run("source") == 0, job.printed["source"]
    job.outputs |= {"python": {"python-path": str(programs / "python")}, "cache": {}}
    assert job.run("install") == 0, job.printed["install"]
    pip = "-m pip install --quiet --disable-pip-version-check"
    assert record_file.read_text("utf-8").splitlines()[1:] == [
        f"{pip} --require-hashes --requirement {ROOT}/requirements/all.txt",
        f"{pip} --no-deps --no-build-isolation {ROOT}[all]",
    ]


def scripts() -> Iterator[tuple[str, str]]:
    """Yield (file, command) of each command that the pipelines, the Containerfile and the page of examples/ci show."""
    gitlab = yaml.safe_load((EXAMPLES / "gitlab.yml").read_text("utf-8"))["weldproof"]
    yield from (("gitlab.yml", line) for line in (*gitlab["before_script"], *gitlab["script"]))
    azure = yaml.safe_load((EXAMPLES / "azure.yml").read_text("utf-8"))["steps"]
    yield from (("azure.yml", step["script"]) for step in azure if "script" in step)
    for name in ("Containerfile", "README.md"):
        lines = re.findall(r"(?<= )weldproof run .*|^weldproof .*", (EXAMPLES / name).read_text("utf-8"), re.MULTILINE)
        yield from ((name, line) for line in lines)


@pytest.mark.parametrize("command", list(dict.fromkeys(command for _, command in scripts())))
def test_a_pipelines_command_runs(agent: Path, programs: Path, command: str) -> None:
    """Each command ends well on a server that is right, in the folder of its profile."""
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "ROWS": ROWS if " run " in command else ""}
    result = subprocess.run(
        ["sh", "-ec", command], cwd=agent, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_pipelines_install_from_the_git_address() -> None:
    """The project is on no package index, as README says."""
    installations = {name: command for name, command in scripts() if command.startswith("pip install")}
    version = PROJECT["project"]["version"]
    expected_command = f'pip install --quiet "weldproof[all] @ git+$REPOSITORY_URL@v{version}"'
    assert installations == dict.fromkeys(("gitlab.yml", "azure.yml"), expected_command)


def test_every_file_has_a_command_that_runs() -> None:
    """The search for commands finds one that judges in each place."""
    assert {name for name, command in scripts() if "weldproof run" in command} == {
        *("Containerfile", "README.md", "azure.yml", "gitlab.yml"),
    }


def test_the_container_holds_the_wheels_packages() -> None:
    """The Containerfile copies what the wheel is built of, all of which is there, and starts the command."""
    lines = (EXAMPLES / "Containerfile").read_text("utf-8").splitlines()
    copied_paths = [
        word for line in lines if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]
    ]
    assert [name for name in copied_paths if not (ROOT / name).exists()] == []
    patterns = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    shipped_packages = {name for name in packages if any(fnmatch(name, pattern) for pattern in patterns)}
    needed_files = {"pyproject.toml", "setup.py", "requirements"}
    needed_files |= {PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    assert set(copied_paths) == shipped_packages | needed_files
    entry = next(line.removeprefix("ENTRYPOINT ") for line in lines if line.startswith("ENTRYPOINT "))
    assert set(json.loads(entry)) <= set(PROJECT["project"]["scripts"])


def test_what_a_target_sent_gives_no_command_to_the_forge(tmp_path: Path) -> None:
    """Lines, colons and percent signs of a finding stay text: one annotation a requirement, whatever is in it."""
    evil = "one\n::set-output name=a::b\r\n%0A::error::c"
    report = tmp_path / "junit.xml"
    report.write_text(junit(f"A-01 x,file=/etc:{evil}", evil), "utf-8")
    result = subprocess.run(
        [sys.executable, EXAMPLES / "annotations.py", report, "./weldproof.toml"],
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = result.stdout.splitlines()
    properties, _, text = line.removeprefix("::error ").partition("::")
    assert properties.split(",")[0] == "file=weldproof.toml"
    assert len(properties.split(",")) == 2
    assert "%250A" in text
    assert "\r" not in line


def junit(name: str, text: str) -> str:
    """Return a JUnit report with one failure."""
    from junitparser import Failure, JUnitXml, TestCase, TestSuite

    case: Any = TestCase(name)
    case.result = [Failure("breach", "fail")]
    case.result[0].text = text
    suite, document = TestSuite("weldproof.A"), JUnitXml("weldproof")
    suite.add_testcases([case])
    document.add_testsuite(suite)
    document_bytes: bytes = document.tostring()  # type: ignore[no-untyped-call]
    return document_bytes.decode()
