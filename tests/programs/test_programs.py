"""Which PostgreSQL, Node.js, Chromium, nginx, Valkey and Go are used: the machine's, or those of the cache."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from programs import chromium, go, nginx, node, postgres, valkey, wrk
from programs.missing import Missing

PINS = Path(node.__file__).parent / "pins"


def script(folder: Path, name: str, says: str) -> Path:
    """Write a program that says one thing."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine's only folder of programs, with an empty cache and unreachable registries."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("WELDPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("WELDPROOF_PROGRAMS", raising=False)
    monkeypatch.setattr(postgres, "DEBIAN", tmp_path / "postgresql")
    monkeypatch.setattr(nginx, "DEBIAN", tmp_path / "sbin")
    return folder


def test_the_machines_node_is_taken_where_it_is_new_enough(machine: Path) -> None:
    """Node.js counts from 20.19 on, and together with npm."""
    own = script(machine, "node", "v20.19.1")
    assert node.find_installed() is None
    npm = script(machine, "npm", "10.1.0")
    program = node.find_installed()
    assert program is not None
    assert (program.description, node.npm(program)) == (f"20.19.1, {own}", (npm,))


@pytest.mark.parametrize("says", ["v18.20.4", "v20.18.9", "nonsense"])
def test_an_older_node_does_not_count(machine: Path, says: str) -> None:
    """What tests run needs a newer one."""
    script(machine, "node", says)
    script(machine, "npm", "10.1.0")
    assert node.find_installed() is None


@pytest.mark.usefixtures("machine")
def test_the_newest_postgresql_is_taken(tmp_path: Path) -> None:
    """Debian keeps one folder a version, off the path; all three programs must be there."""
    for version in ("9.6", "15", "16"):
        folder = tmp_path / "postgresql" / version / "bin"
        folder.mkdir(parents=True)
        for name in postgres.PROGRAMS if version != "16" else ("postgres",):
            script(folder, name, f"postgres (PostgreSQL) {version}.2")
    program = postgres.find_installed()
    assert program is not None
    assert program.description == f"15.2, {tmp_path}/postgresql/15/bin/postgres"


def test_the_shell_comes_before_the_whole_browser(machine: Path) -> None:
    """The same pages in half the processor's time."""
    script(machine, "chromium", "Chromium 130.0.1 built on Debian")
    shell = script(machine, "chromium-headless-shell", "Chromium 131.0.1")
    program = chromium.find_installed()
    assert program is not None
    assert program.description == f"131.0.1, {shell}"


@pytest.mark.usefixtures("machine")
def test_nginx_off_the_path_is_taken(tmp_path: Path) -> None:
    """Debian keeps it in /usr/sbin; it tells its version on standard error, and knows no `--version`."""
    assert nginx.find_installed() is None
    (tmp_path / "sbin").mkdir()
    path = tmp_path / "sbin" / "nginx"
    path.write_text('#!/bin/sh\n[ "$1" = -v ] && echo "nginx version: nginx/1.22.1" >&2\n')
    path.chmod(0o755)
    program = nginx.find_installed()
    assert program is not None
    assert program.description == f"1.22.1, {path}"


@pytest.mark.parametrize("name", ["valkey-server", "redis-server"])
def test_valkey_or_its_ancestor_is_taken(machine: Path, name: str) -> None:
    """Debian 12 has only redis-server; both report their version in the same form."""
    path = script(machine, name, "Valkey server v=8.0.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1")
    program = valkey.find_installed()
    assert program is not None
    assert program.description == f"8.0.1, {path}"


@pytest.mark.parametrize(("version", "is_taken"), [("1.22", True), ("1.26.8", True), ("1.21.13", False)])
def test_go_of_the_machine_is_taken_if_it_is_new_enough(machine: Path, version: str, is_taken: bool) -> None:
    """Go counts from 1.22 on."""
    path = script(machine, "go", f"go version go{version} linux/amd64")
    program = go.find_installed()
    assert (program is not None) == is_taken
    assert program is None or program.description == f"{version}, {path}"


def test_a_variable_forbids_the_machines(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With WELDPROOF_PROGRAMS=own only the cache counts."""
    for name in ("node", "npm", "chromium", "nginx", "valkey-server", *postgres.PROGRAMS):
        script(machine, name, "v25.1.0")
    script(machine, "go", "go version go1.26.8 linux/amd64")
    modules = (node, postgres, chromium, nginx, valkey, go)
    assert all(module.find_installed() is not None for module in modules)
    monkeypatch.setenv("WELDPROOF_PROGRAMS", "own")
    assert [module.find_installed() for module in modules] == [None] * 6


@pytest.mark.parametrize(
    "module",
    [node, postgres, chromium, nginx, valkey, go],
    ids=["node", "postgres", "chromium", "nginx", "valkey", "go"],
)
def test_where_nothing_serves_one_line_says_what_to_install(machine: Path, module: ModuleType) -> None:
    """No program, no registry: what is missing, and Debian's line for it."""
    assert list(machine.iterdir()) == []
    with pytest.raises(Missing) as error:
        getattr(module, module.__name__.rpartition(".")[2])(lambda _: None)
    assert "apt install" in error.value.remedy
    assert "\n" not in error.value.remedy


@pytest.mark.parametrize("name", ["node", "postgres", "nginx", "valkey", "go", "uv"])
def test_python_packages_are_pinned_by_version_and_digest(name: str) -> None:
    """One version, and a digest for each of its files."""
    first, *digests = (PINS / f"{name}.txt").read_text("ascii").replace("\\\n", " ").split()
    assert re.fullmatch(r"[a-z-]+==[0-9.]+(post[0-9]+)?", first)
    assert digests
    assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", digest) for digest in digests)


def test_npm_packages_are_pinned_by_version_and_digest() -> None:
    """The public registry alone, each with a digest."""
    packages_locked = json.loads((PINS / "chromium" / "package-lock.json").read_text("utf-8"))["packages"]
    packages = {name: one for name, one in packages_locked.items() if name}
    assert "node_modules/@sparticuz/chromium" in packages
    for package in packages.values():
        assert package["resolved"].startswith("https://registry.npmjs.org/")
        assert package["integrity"].startswith("sha512-")


def test_wrk_is_the_machines(machine: Path) -> None:
    """No registry has it, so the fault says how it is installed."""
    with pytest.raises(Missing, match="apt install wrk"):
        wrk.wrk()
    own = script(machine, "wrk", "wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer")
    assert wrk.wrk().description == f"4.1.0, {own}"
