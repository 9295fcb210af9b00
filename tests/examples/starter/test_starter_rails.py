"""The starter rails: the rows that each step of docs/starter.md makes pass, and no other row that does not pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from programs import cache, npm_packages
from programs.go import go
from programs.node import node
from tools.mutants.second import rail_servers as second_rail
from tools.mutants.second.suite_verdicts import verdicts

FOLDER: Final = Path(__file__).parent
ROOT: Final = FOLDER.parents[2]
STARTER: Final = ROOT / "examples" / "starter"
ROWS: Final = tomllib.loads((STARTER / "rows.toml").read_text("utf-8"))
STEPS: Final[Mapping[int, Sequence[str]]] = {int(step): rows for step, rows in ROWS["steps"].items()}
LAST: Final = max(STEPS)
APPLICABLE: Final = 79  # rows of a rail on one lane without options, X-OAS-01 among them
# After these steps every row is asked, after the others the rows that the steps are about.
ASKED_WHOLLY: Final = (0, 1, LAST)
_MARK: Final = re.compile(r"\s*// (?:(step|until) (\d)|end)")


def build_go(source: Path, target: Path) -> Sequence[str]:
    """Compile the Go rail and return the command that starts it."""
    # What Go compiled is kept with the project's other downloads, and no other version of Go is downloaded.
    environment = {**os.environ, "GOCACHE": str(cache.folder() / "go-build"), "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    command = [str(go().path), "build", "-o", str(target), "."]
    subprocess.run(command, cwd=source, env=environment, check=True, timeout=600)
    return [str(target)]


def build_typescript(source: Path, _target: Path) -> Sequence[str]:
    """Compile the TypeScript rail into its own folder `dist` and return the command that starts it."""
    runtime = str(node().path)
    (source / "node_modules").symlink_to(npm_packages.node_modules(STARTER / "typescript"))
    compiler = source / "node_modules" / "typescript" / "bin" / "tsc"
    subprocess.run([runtime, str(compiler)], cwd=source, check=True, timeout=600)
    return [runtime, str(source / "dist" / "main.js")]


@dataclass(frozen=True, slots=True)
class Language:
    """A starter rail: its file that the reader writes, and how a copy of it is built."""

    weld: str
    build: Callable[[Path, Path], Sequence[str]]


LANGUAGES: Final = {"go": Language("weld.go", build_go), "typescript": Language("weld.ts", build_typescript)}


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The ready line of a simulated Algorand."""
    with second_rail.chain(tmp_path_factory.mktemp("starter")) as ready:
        yield ready


def after_step(text: str, step: int) -> str:
    """Return a finished weld as it is after a step: without the lines of the later steps."""
    kept_lines, is_kept = [], True
    for line in text.splitlines(keepends=True):
        mark = _MARK.fullmatch(line.rstrip("\n"))
        if mark is None:
            kept_lines += [line] if is_kept else []
        else:
            is_kept = mark[1] is None or (int(mark[2]) <= step) == (mark[1] == "step")
    return "".join(kept_lines)


def build(name: str, step: int, folder: Path) -> Sequence[str]:
    """Build a copy of a starter rail with its weld as it is after a step, 0 as it is published; return its command."""
    language, copy = LANGUAGES[name], folder / "source"
    shutil.copytree(STARTER / name, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
    if step:
        finished_weld = (FOLDER / name / language.weld).read_text("utf-8")
        next(copy.rglob(language.weld)).write_text(after_step(finished_weld, step), "utf-8")
    return language.build(copy, folder / "built")


@pytest.mark.slow
@pytest.mark.parametrize("step", range(LAST + 1))
@pytest.mark.parametrize("name", LANGUAGES)
def test_exactly_the_rows_of_the_steps_to_come_do_not_pass(
    name: str, step: int, chain: Mapping[str, str], tmp_path: Path
) -> None:
    """As published the rows of all steps do not pass; each step makes its rows pass; after the last, all pass."""
    to_come = {row: "fail" for after, rows in STEPS.items() if after > step for row in rows}
    to_come |= dict.fromkeys(ROWS["undecided"].get(str(step), ()), "inconclusive")
    if step == 0:
        to_come |= {row: "inconclusive" for row in to_come if row not in ROWS["shipped"]["fail"]}
    words = (
        ["RAIL", "X-OAS-01"] if step in ASKED_WHOLLY else [row for after in STEPS if after > 1 for row in STEPS[after]]
    )
    command = build(name, step, tmp_path)
    with second_rail.rail(
        chain, STARTER / name, tmp_path / "rail", words=command, profile=STARTER / "weldproof.toml"
    ) as profile:
        row_verdicts = verdicts(profile, *words)
    assert {
        row: verdict for row, verdict in row_verdicts.items() if verdict not in {"pass", "not_applicable"}
    } == to_come
    pass_count = sum(verdict == "pass" for verdict in row_verdicts.values())
    assert pass_count == (APPLICABLE if step in ASKED_WHOLLY else len(words)) - len(to_come)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["WP_BIND", "WP_NODE_ALGORAND_MAINNET"])
@pytest.mark.parametrize("name", LANGUAGES)
def test_an_unfinished_weld_stays_on_this_machine(name: str, setting: str, tmp_path: Path) -> None:
    """Until the weld is finished, the rail does not start with another machine's node or for other machines."""
    values = {
        "WP_NODE_ALGORAND_MAINNET": "http://127.0.0.1:9",
        "WP_RAIL_PAYTO_ALGORAND": "UJXGH6D5AC5IMEMDPIA2PVWKTQYU3DG4BTOLXI45UL5L2PCZEC5DFRW5GE",
        "WP_RAIL_DATA_DIR": str(tmp_path / "data"),
        "WP_RAIL_PORT": "0",
        setting: {"WP_BIND": "0.0.0.0", "WP_NODE_ALGORAND_MAINNET": "http://192.0.2.1:4001"}[setting],  # noqa: S104 - refused
    }
    command = build(name, 0, tmp_path)
    result = subprocess.run(
        command, env={**os.environ, **values}, capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 2
    assert f"the weld is not finished: {setting} must be an address of this machine" in result.stderr


def test_the_page_leads_through_the_steps_by_their_rows() -> None:
    """docs/starter.md has a heading for each step, with the rows that judge it, and each row belongs to one step."""
    page = (ROOT / "docs" / "starter.md").read_text("utf-8")
    sections = re.split(r"^## Step (\d): .*$", page, flags=re.MULTILINE)
    assert [int(number) for number in sections[1::2]] == list(STEPS)
    for number, section in zip(sections[1::2], sections[2::2], strict=True):
        sentence = re.search(r"^Judged by (.*?)\.$", section, re.MULTILINE | re.DOTALL)
        assert sentence is not None
        assert re.findall(r"RAIL-\w+-\d\d", sentence[1]) == list(STEPS[int(number)])
    rows = [row for step in STEPS.values() for row in step]
    assert len(rows) == len(set(rows))
    assert f"{APPLICABLE - len(rows)} of the {APPLICABLE} rows that apply pass, and the other {len(rows)}" in page


def test_a_weld_after_a_step_lacks_the_later_steps() -> None:
    """The control: lines of later steps are left out, and lines that hold until a step are left out from it on."""
    weld = "a\n// step 2\nb\n// end\n  // until 2\nc\n  // end\nd\n"
    assert after_step(weld, 1) == "a\nc\nd\n"
    assert after_step(weld, 2) == "a\nb\nd\n"
