"""Mutants made by rule: how they are known, how they are applied, and that a run tells killed from survived."""

from __future__ import annotations

import ast
import asyncio
import os
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import orjson
import pytest

from conformance.cli.selftest.generated import against_generated
from conformance.cli.usage import UsageFault
from tests import prepared
from tools.mutants import generated as command
from tools.mutants.generated import Trial
from tools.mutants.results import Results, Unjudged
from tools.mutation import judged, killed_mutants, reach
from tools.mutation.places import PACKAGES, Mutant, mutants
from tools.mutation.reach_recording import Notes
from tools.mutation.stacks import STACKS

ROOT = Path(__file__).parents[3]
TRIAL_RULE = "protocol/trial_limits:admit_link/refusal-dropped/7d295daf"
RULES = """
LIMIT = 20


class Shop:
    def price(self, tenant, wanted, now):
        if wanted.tenant == tenant and wanted.until > now:
            return {"id": wanted.id, "price": wanted.price}
        raise Refused(404, "not_found")
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """A checkout whose reference is one small module."""
    for package in ("protocol", "gateway"):
        (tmp_path / "reference" / package).mkdir(parents=True)
    (tmp_path / "reference" / "gateway" / "shop.py").write_text(RULES, "utf-8")
    yield tmp_path
    mutants.cache_clear()


def make_mutants(root: Path) -> dict[str, Mutant]:
    mutants.cache_clear()
    return {one.id: one for one in mutants(root)}


def test_each_rule_of_a_function_is_broken_by_its_operators(checkout: Path) -> None:
    """Comparisons, conditions, members, statuses and limits of the small module are all found."""
    changes = {(one.operator, one.after) for one in make_mutants(checkout).values()}
    assert ("compare-boundary", "wanted.until >= now") in changes
    assert ("compare-always", "True") in changes
    assert ("and-dropped", "wanted.until > now") in changes
    assert {"equal-prefix", "equal-begins", "equal-case", "equal-trimmed"} <= {operator for operator, _ in changes}
    assert ("member-dropped", "{'price': wanted.price}") in changes
    assert ("member-null", "{'id': wanted.id, 'price': None}") in changes
    assert ("member-swapped", "{'id': wanted.price, 'price': wanted.id}") in changes
    assert ("refusal-dropped", "") in changes
    assert ("status", "410") in changes
    assert {("limit-tighter", "18"), ("limit-looser", "22")} <= changes


def test_ids_stay_when_lines_and_files_move_and_go_with_the_rule(checkout: Path) -> None:
    """A comment, a blank line and another folder change no id; another rule changes those of its place alone."""
    before = make_mutants(checkout)
    path = checkout / "reference" / "gateway" / "shop.py"
    (path.parent / "selling").mkdir()
    path = path.rename(path.parent / "selling" / "shop.py")
    path.write_text(f"# What is sold.\n\n\n{RULES}", "utf-8")
    assert [*make_mutants(checkout)] == [*before]
    path.write_text(RULES.replace("404", "403"), "utf-8")
    lost_operators = {before[one].operator for one in {*before} - {*make_mutants(checkout)}}
    assert lost_operators == {"status", "refusal-dropped"}


def test_each_mutant_is_one_change_of_a_module_that_compiles(checkout: Path) -> None:
    """The source with a mutant in it is never the source without it, and each is Python."""
    clean = ast.unparse(ast.parse(RULES))
    sources = [one.source(checkout) for one in make_mutants(checkout).values()]
    for source in sources:
        compile(source, "shop.py", "exec")
    assert clean not in sources
    assert sources


def test_every_id_of_the_reference_is_its_own() -> None:
    """No two mutants of the whole reference have one id, and there are thousands."""
    all_mutants = mutants()
    assert len({one.id for one in all_mutants}) == len(all_mutants) > 10_000
    assert mutants(packages=("store",)) == tuple(one for one in all_mutants if one.id.startswith("store/"))


def test_each_judged_survivor_is_a_mutant_of_today() -> None:
    """A judgement of a rule that has changed since is taken out; each verdict is a known one with its reason."""
    assert {*judged.load()} <= {one.id for one in mutants()}


@pytest.mark.parametrize("text", ['[maybe]\n"a" = "b"', '[hole]\n"a" = " "', '[hole]\n"a" = "b"\n[test]\n"a" = "b"'])
def test_a_judgement_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    """An unknown verdict, a missing reason, and a second judgement of one mutant."""
    path = tmp_path / "judged.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match="judgement"):
        judged.load(path)


@pytest.mark.parametrize(
    ("globs", "packages"),
    [
        ((), PACKAGES),
        (("protocol/trial_limits:admit_link/*",), ("protocol",)),
        (("*:admit_link/*",), PACKAGES),
        (("reference/*",), PACKAGES),
        (("reference/rail/app.py:12", "web*"), ("rail", "webhooks", "web")),
        (("s[a-z]ore/*",), ("store",)),
        (("nowhere/*",), ()),
    ],
)
def test_packages_in_which_nothing_can_match_are_not_read(globs: tuple[str, ...], packages: tuple[str, ...]) -> None:
    """A glob of ids or places is held against the beginning of both, as far as it is fixed."""
    assert command._packages(globs) == packages


def test_the_listing_names_ids_and_places() -> None:
    """`weldproof selftest --generated --list --only …` prints the ids that match, and tries nothing."""
    words = ("selftest", "--generated", "--list", "--only", "protocol/trial_limits:admit_link/*")
    result = prepared.run("conformance", *words, env=os.environ)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines
    assert all(line.startswith("protocol/trial_limits:admit_link/") for line in lines)


@pytest.mark.slow
def test_a_run_tells_what_is_killed_what_survives_and_what_nothing_reaches(tmp_path: Path) -> None:
    """What an edge host must not do is seen, how much of a QR code may be lost is left open, and no row is live."""
    chosen_ids = {
        "gateway/request_guard:RequestGuard.__call__/refusal-dropped/298178dd": "killed",
        "gateway/qr:png/compare-never/b5eb33b4": "survived",
        "gateway/return_addresses:_is_private_host/compare-never/*": "unreached",
    }
    run = [sys.executable, "-m", "tools.mutants", "generated", *chosen_ids, "--folder", str(tmp_path), "--json"]
    result = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    results_by_id = {one["id"]: one for one in orjson.loads(result.stdout)}
    assert {
        name: one["outcome"] for one in results_by_id.values() for name in chosen_ids if fnmatchcase(one["id"], name)
    } == chosen_ids
    killed_ids, survived_ids = (
        next(one for one in results_by_id.values() if one["outcome"] == word) for word in ("killed", "survived")
    )
    assert "GW-DOC-02" in killed_ids["killed_by"]
    assert survived_ids["rows_run"]
    again = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert orjson.loads(again.stdout) == orjson.loads(result.stdout)


def test_the_test_that_holds_a_rule_is_named() -> None:
    """A rule of trials that is left out fails the test of trials, and no test of screening."""
    [mutant] = [one for one in mutants(packages=("protocol",)) if one.id == TRIAL_RULE]
    tests = "tests/reference/protocol"
    killed_one, survived_one = (
        _result_of_tests(mutant, f"{tests}/test_trial_limits.py"),
        _result_of_tests(mutant, f"{tests}/test_screening.py"),
    )
    [test] = killed_one["killed_by"]
    assert test.startswith(f"{tests}/test_trial_limits.py::test_the_first_rule_that_does_not_hold_decides[")
    assert (killed_one["wrong"], survived_one["outcome"]) == ((), "survived")
    assert survived_one["wrong"]
    with pytest.raises(Unjudged, match="test_nowhere"):
        _result_of_tests(mutant, f"{tests}/test_nowhere.py")


def _result_of_tests(mutant: Mutant, path: str) -> dict[str, Any]:
    results = Results()
    command.run_tests([mutant], [path], results)
    return results.by_stack("generated")[mutant.id, ""]


def test_where_every_stack_is_tried_the_one_that_sees_most_comes_first() -> None:
    """A rule of receipts is tried where most checks reach it, on no stack with the same checks on another lane."""
    trials = [Trial(name, reach.load(name), 1) for name in STACKS]
    [mutant] = [one for one in mutants(packages=("protocol",)) if one.id == TRIAL_RULE]
    assert [one.stack for one in command.turns(mutant, trials)] == ["gateway"]
    shared_mutants = [one for one in mutants(packages=("web",)) if len(command.turns(one, trials)) > 2]
    assert shared_mutants
    for one in shared_mutants[:5]:
        reach_counts = [len(trial.reach.checks(one)) for trial in command.turns(one, trials)]
        assert reach_counts == sorted(reach_counts, reverse=True)
        assert reach_counts[-1] > 0


def test_the_stack_that_found_most_decides() -> None:
    """A mutant that one stack has caught is caught, and one that none has is as bad as it looked anywhere."""
    caught_mutant, passed_mutant = mutants(packages=("store",))[:2]
    before = {
        (caught_mutant.id, "agent"): result(caught_mutant.id, "survived"),
        (caught_mutant.id, "rail"): result(caught_mutant.id, "killed"),
        (passed_mutant.id, "agent"): result(passed_mutant.id, "survived"),
        (passed_mutant.id, "control_plane"): result(passed_mutant.id, "warned"),
    }
    assert [one["outcome"] for one in command._decisive([caught_mutant, passed_mutant], before)] == ["killed", "warned"]
    assert [command._is_caught(one, before) for one in (caught_mutant, passed_mutant)] == [True, False]


def test_what_a_row_failed_once_is_kept_and_goes_when_it_is_not_any_more(tmp_path: Path) -> None:
    """A killed mutant is added with its rows, one that survives is taken out, and so is one whose rule has changed."""
    first = [
        result("a", "killed", "GW-LINK-02", "GW-LINK-01"),
        result("b", "killed", "GW-LINK-03"),
        result("c", "warned"),
    ]
    killed_mutants.keep("gateway", first, tmp_path)
    killed_mutants.keep("rail", [result("d", "killed", "RAIL-402-01")], tmp_path)
    assert killed_mutants.load("gateway", tmp_path) == {"a": ("GW-LINK-01", "GW-LINK-02"), "b": ("GW-LINK-03",)}
    killed_mutants.keep("gateway", [result("b", "survived"), result("c", "killed", "GW-LINK-04")], tmp_path)
    assert [*killed_mutants.load("gateway", tmp_path)] == ["a", "c"]
    killed_mutants.tidy({"c"}, tmp_path)
    assert killed_mutants.load("gateway", tmp_path) == {"c": ("GW-LINK-04",)}
    assert killed_mutants.load("rail", tmp_path) == {}
    assert killed_mutants.load("agent", tmp_path) == {}


def result(name: str, outcome: str, *rows: str) -> dict[str, Any]:
    return {"id": name, "outcome": outcome, "killed_by": dict.fromkeys(rows, "found")}


def test_each_stack_has_its_lines_recorded_and_most_of_what_was_killed_is_a_mutant_of_today() -> None:
    """Each stack says what it runs as its recording does; an entry whose rule has changed waits for `make record`."""
    known_ids = {one.id for one in mutants()}
    for name, kind in STACKS.items():
        recorded_lines = reach.load(name)
        assert (recorded_lines.surfaces, recorded_lines.lanes) == (kind.surfaces, kind.lanes)
        assert len({*killed_mutants.load(name)} & known_ids) >= len(killed_mutants.load(name)) / 2
    assert {path.stem for path in killed_mutants.FOLDER.glob("*.json")} <= {*STACKS}


async def test_lines_are_noted_by_the_stack_and_by_what_checks_start(tmp_path: Path) -> None:
    """A running process begins a new list of lines when asked, and a killed process has left the lines that it ran."""
    folder = tmp_path / "reference"
    folder.mkdir()
    (folder / "rules.py").write_text("def first():\n    return 1\n\n\ndef second():\n    return 2\n", "utf-8")
    notes = Notes(tmp_path)
    async with _trace(folder) as running_process, _trace(folder) as started_process:
        assert await _lines(notes, running_process) == {1, 5}
        await _call(running_process, "first")
        await _call(started_process, "second")
        started_process.kill()
        await started_process.wait()
        assert await _lines(notes, running_process) == {2, 6}
        assert await _lines(notes, running_process) == set()
        await _call(running_process, "first")
        assert await _lines(notes, running_process) == {2}


@asynccontextmanager
async def _trace(folder: Path) -> AsyncIterator[Process]:
    """A process that notes the lines of a module while it calls the named functions."""
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); from tools.mutation.service.tracing import trace\n"
        f"trace({str(folder.parent)!r}); import rules; print('ready', flush=True)\n"
        "for name in sys.stdin: print(getattr(rules, name.strip())(), flush=True)"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, cwd=ROOT, stdin=PIPE, stdout=PIPE)
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _call(process: Process, function: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{function}\n".encode())
    assert await process.stdout.readline()


async def _lines(notes: Notes, process: Process) -> set[int]:
    return {line for _, line in await notes.since([process.pid])}


def test_without_a_checkout_it_says_so(tmp_path: Path) -> None:
    """The wheel has no tools/, and the command says where to run it."""
    with pytest.raises(UsageFault, match="run it in a checkout"):
        against_generated((), {}, checkout=tmp_path)
