"""What the commands that only print need not import: the chains' SDKs, HTTP clients, the checks themselves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import click
import pytest
from click.testing import CliRunner

from conformance.cli import main

# Each costs tenths of a second, or seconds, of CPU before the first line is printed.
HEAVY = frozenset(
    {
        *("web3", "eth_account", "py_ecc", "algosdk", "solana", "solders", "spl"),
        *("schemathesis", "hypothesis", "playwright", "PIL", "zxingcpp"),
        *("aiohttp", "asyncio", "pydantic", "cryptography", "rich", "jinja2", "uvloop", "psycopg"),
        *(
            "conformance.checks",
            "conformance.engine.check",
            "conformance.engine.runner",
            "conformance.engine.session",
            "conformance.lanes.payers",
        ),
    }
)

# What the options of a command are taken from, or what it cannot tell of without, and what costs little.
ALLOWED_MODULES: Mapping[str, frozenset[str]] = {
    "audit": frozenset({"aiohttp", "asyncio", "cryptography"}),
    "message": frozenset({"cryptography"}),
    "receipt diff": frozenset({"cryptography", "jinja2", "pydantic"}),
    "receipt inspect": frozenset({"cryptography"}),
    "receipt verify": frozenset({"cryptography"}),
    "report": frozenset({"pydantic"}),
    "tenant": frozenset({"asyncio"}),
    "vectors": frozenset({"asyncio", "uvloop", "jinja2"}),
    "vectors run": frozenset({"asyncio", "uvloop", "jinja2"}),
}
# Both hand over to the launcher, which is a program of its own.
LAUNCHER_COMMANDS = ("up", "localnet")
HELPED_COMMANDS = (
    *(name for name in main.list_commands(click.Context(main)) if name not in LAUNCHER_COMMANDS),
    *("receipt inspect", "receipt verify", "receipt diff", "vectors run"),
)


def run_and_list_imports(*words: str, module: str = "conformance.cli") -> tuple[str, set[str]]:
    """Run the command in a process of its own; return what it printed and which modules it then had."""
    program = (
        f"import sys\nfrom {module} import main\n"
        f"try:\n    main({list(words)!r})\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return result.stdout, set(result.stderr.split())


@pytest.mark.parametrize(
    ("words", "expected_text"),
    [
        (["--help"], "Run the suite"),
        (["list"], "RAIL-WELD-02"),
        (["list", "--checks", "--json"], "hostile_bodies_at_the_rail"),
        (["list", "--help"], "--deciding"),
        (["explain", "RAIL-WELD-02"], "Fix:"),
        (["explain", "hostile_bodies_at_the_rail"], "Fix:"),
        (["explain", "--help"], "--json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_that_only_prints_imports_nothing_heavy(words: list[str], expected_text: str) -> None:
    """What is printed from data waits for no SDK, no check and no event loop."""
    output, modules = run_and_list_imports(*words)
    assert expected_text in output
    assert not HEAVY & modules


@pytest.mark.parametrize("name", HELPED_COMMANDS)
def test_help_waits_for_nothing_that_the_command_needs_at_work(name: str) -> None:
    """The options of a command stand apart from what it imports to do its work."""
    output, modules = run_and_list_imports(*name.split(), "--help")
    assert f" {name} [OPTIONS]" in output
    assert (HEAVY - ALLOWED_MODULES.get(name, frozenset())) & modules == set()


@pytest.mark.parametrize(
    ("words", "expected_text", "allowed_modules"),
    [
        (["--help"], "Start all reference services", set()),
        (["up", "--help"], "Start all reference services", set()),
        *(([name, "--help"], "--data-dir", {"aiohttp", "asyncio"}) for name in ("start", "stop", "status", "fund")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_launcher_s_help_waits_for_no_chain(
    words: list[str], expected_text: str, allowed_modules: set[str]
) -> None:
    """What starts nodes and surfaces is imported when one is to be started."""
    output, modules = run_and_list_imports(*words, module="localnet.__main__")
    assert expected_text in output
    assert (HEAVY - allowed_modules) & modules == set()


def test_the_help_knows_every_command_without_importing_it() -> None:
    """Each line of the overview is what the command itself, once it is imported, gives as its short help."""
    overview = " ".join(CliRunner().invoke(main, ["--help"]).output.split())
    context = main.make_context("weldproof", [], resilient_parsing=True)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert command.help
        assert f" {name} {command.get_short_help_str(200)}" in overview
