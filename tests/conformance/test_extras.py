"""What comes with an extra: nothing else needs it, and whatever does says what to type and passes nothing."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance import extras
from conformance.cli import main
from conformance.engine.catalogue import load_catalogue
from conformance.engine.check_loading import find_missing_extras
from conformance.engine.runner import select_checks
from conformance.ledger import load
from conformance.target import Claims, Profile, Surface
from tests.without_extras import run_without, weldproof_without

ROOT = Path(__file__).parents[2]
DECLARED_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LANES = ("algorand", "base", "solana")
NOBODY = "http://127.0.0.1:9"
_PROFILE = """
[surfaces.rail]
url = "http://127.0.0.1:9"
[claims]
surfaces = ["rail"]
lanes = ["algorand", "base"]
[chains.base]
rpc = "http://127.0.0.1:9"
control = "http://127.0.0.1:9"
[chains.algorand]
algod = "http://127.0.0.1:9"
indexer = "http://127.0.0.1:9"
control = "http://127.0.0.1:9"
"""


def distributions(requirements: list[str]) -> set[str]:
    """Return the names of what is required, normalised; parts of this distribution are left out."""
    names = (re.match(r"[\w.-]+", one) for one in requirements)
    return {one[0].lower().replace("_", "-") for one in names if one} - {"weldproof"}


@pytest.mark.parametrize("extra", extras.MODULES)
def test_its_modules_are_those_of_the_distributions_that_it_declares(extra: str) -> None:
    """An extra is known by a module of each of its distributions, and of no other."""
    owners = packages_distributions()
    distributions_found = {
        owner.lower().replace("_", "-") for module in extras.MODULES[extra] for owner in owners[module]
    }
    # psycopg of `postgres` is wanted again with more of its own parts.
    distributions_wanted = distributions(DECLARED_PROJECT["optional-dependencies"][extra]) - (
        {"psycopg"} if extra == "reference" else set()
    )
    assert distributions_wanted <= distributions_found
    # solana-py ships `spl`, and it alone.
    assert distributions_found - distributions_wanted <= set()


def test_no_module_is_of_an_extra_and_of_the_base() -> None:
    """What every installation has is never missing."""
    owners = packages_distributions()
    base = distributions(DECLARED_PROJECT["dependencies"])
    hers = {owner.lower() for modules in extras.MODULES.values() for one in modules for owner in owners[one]}
    assert not base & hers


def test_all_is_every_extra_of_the_product() -> None:
    """`all` brings everything that the product uses, and `dev` brings `all`."""
    extras_declared = DECLARED_PROJECT["optional-dependencies"]

    def whole(extra: str) -> set[str]:
        parts = {name for one in extras_declared[extra] for name in re.findall(r"^weldproof\[([^]]+)\]", one)}
        return {extra}.union(*(whole(name) for part in parts for name in part.split(",")))

    assert whole("all") >= set(extras.MODULES)
    assert "all" in whole("dev")
    for lane in LANES:
        assert "checkout" in whole(lane)


def test_every_check_is_known_without_any_extra() -> None:
    """Where nothing but the base is installed, the checks are those of the catalogue, none left out or changed."""
    program = (
        "from conformance.engine.check_loading import load_checks\n"
        "from conformance.engine.catalogue import load_catalogue\n"
        "from tests.conformance.described_checks import describe_checks\n"
        "import sys\n"
        "print(describe_checks(load_checks()) == load_catalogue(), sorted(HIDDEN & {*sys.modules}))"
    )
    result = run_without(extras.MODULES, program, cwd=ROOT)
    assert (result.stdout.strip(), result.stderr) == ("True []", "")


@pytest.mark.slow
def test_a_lane_alone_brings_all_of_its_own_checks() -> None:
    """With one lane's extra every check of that lane, and every check of all lanes, is the check itself."""
    program = (
        "import sys\n"
        "from conformance.engine.check_loading import load_checks\n"
        "stand_ins = [check for check in load_checks() if check.function.__code__.co_name == 'not_installed']\n"
        "print({check.lane for check in stand_ins} - {*sys.argv[1:]})"
    )
    for lane in LANES:
        other_lanes = [one for one in LANES if one != lane]
        result = run_without([*other_lanes, "postgres"], program, *other_lanes)
        assert (result.stdout.strip(), result.stderr) == ("set()", ""), lane


def test_every_command_explains_itself_without_any_extra() -> None:
    """`--help` of each command needs nothing that an extra brings; three hand over to programs of their own."""
    program = (
        "from click.testing import CliRunner\n"
        "from conformance.cli import main\n"
        "for name in main.list_commands(None):\n"
        "    if name not in {'up', 'localnet', 'bench'}:\n"
        "        print(name, CliRunner().invoke(main, [name, '--help']).exit_code)"
    )
    result = run_without(extras.MODULES, program)
    codes = dict(line.split() for line in result.stdout.splitlines())
    assert {*codes.values()} == {"0"}, result.stderr
    assert "check" in codes


def test_own_stack_names_its_extra_and_ends_with_2(tmp_path: Path) -> None:
    """What brings up the reference without it says what to type, is no fault of the suite, and reports nothing."""
    for words in (("up",), ("run", "RAIL-KEY", "--reference"), ("demo",), ("selftest", "version-1")):
        result = weldproof_without(["reference"], *words, cwd=tmp_path)
        error_line = 'Error: This needs the extra "reference": pip install "weldproof[reference]"\n'
        assert (result.returncode, result.stderr) == (2, error_line), words
    assert not (tmp_path / "report" / "index.html").exists()


def test_pay_names_the_lane_that_it_lacks(tmp_path: Path) -> None:
    """Nothing is asked of the rail, and nothing paid, where what pays on the lane is not installed."""
    (tmp_path / "weldproof.toml").write_text(_PROFILE)
    result = weldproof_without(["base"], "pay", "--lane", "base", NOBODY, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (2, f"Error: {extras.sentence('base')}\n")


def test_a_run_says_which_rows_a_missing_lane_leaves_unjudged(tmp_path: Path) -> None:
    """Before anything is sent the rows are named with what to type; they are inconclusive, and so is the run."""
    (tmp_path / "weldproof.toml").write_text(_PROFILE)
    result = weldproof_without(["base"], "run", "RAIL-PAY-07", "RAIL-KEY-01", cwd=tmp_path)
    assert result.returncode == 3, result.stdout + result.stderr
    line = next(one for one in result.stderr.splitlines() if "will not be judged" in one)
    assert "RAIL-PAY-07" in line
    assert "RAIL-KEY-01" not in line
    assert line.endswith('This needs the extra "base": pip install "weldproof[base]"')
    tests = json.loads((tmp_path / "report" / "report.json").read_text())["results"]["tests"]
    row = next(one for one in tests if one["name"].startswith("RAIL-PAY-07"))
    assert (row["rawStatus"], row["message"]) == ("inconclusive", extras.sentence("base"))


def test_a_run_says_before_it_begins_which_rows_generated_calls_leave_unjudged(tmp_path: Path) -> None:
    """A user who installed a lane alone reads at once, and not after a run, what a verdict still needs."""
    (tmp_path / "weldproof.toml").write_text(_PROFILE)
    result = weldproof_without(["fuzz"], "run", "X-OAS-01", "RAIL-KEY-01", cwd=tmp_path)
    assert result.returncode == 3, result.stdout + result.stderr
    line = next(one for one in result.stderr.splitlines() if "will not be judged" in one)
    assert "X-OAS-01" in line
    assert "RAIL-KEY-01" not in line
    assert line.endswith(extras.sentence("fuzz"))


def test_a_row_of_each_lane_is_no_pass_where_one_lane_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a check that runs on each lane those of the missing lanes are known, and the others are not touched."""
    monkeypatch.setattr(extras, "is_installed", lambda extra: extra != "solana")
    profile = Profile(surfaces={"rail": Surface(url=NOBODY)}, claims=Claims(surfaces=("rail",), lanes=LANES))
    missing_extras = find_missing_extras(select_checks(load().select(["RAIL-RCPT"]), profile))
    assert {one.lane for one in missing_extras} == {"solana"}
    assert {*missing_extras.values()} == {extras.sentence("solana")}


def test_a_module_that_no_extra_brings_is_the_suites_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what an extra would bring is answered with a line to type."""
    monkeypatch.setitem(__import__("sys").modules, "conformance.cli.list", None)
    result = CliRunner().invoke(main, ["list"])
    assert result.exit_code == 4
    assert extras.reason(ModuleNotFoundError("no", name="numpy")) is None
    assert extras.reason(ModuleNotFoundError("no", name="solders.pubkey")) == extras.sentence("solana")


def test_the_catalogue_knows_the_lane_of_what_stands_alone() -> None:
    """Checks in the words of a lane's libraries are bound to that lane, so that its absence is said of them."""
    files = {one.file for one in load_catalogue() if re.search(r"checks/\w+/(base|solana)/\w+\.py$", one.file)}
    assert files
    assert all(one.lane in LANES for one in load_catalogue() if one.file in files)
