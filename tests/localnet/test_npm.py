"""npm packages of the real nodes: installed once, from the lock file, outside the source tree."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from localnet import npm
from programs.missing import Missing

# Counts its calls, takes its time, and writes what `npm ci` would.
FAKE = """#!/bin/sh
test "$1" != --version || { echo v20.19.0; exit; }
echo call >> "$COUNT"
sleep 0.3
test -z "$FAIL" || { echo 'registry is gone' >&2; exit 1; }
mkdir -p node_modules/thing
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("npm", "node"):
        (programs / name).write_text(FAKE)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("COUNT", str(tmp_path / "count"))
    monkeypatch.setenv("WELDPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WELDPROOF_PROGRAMS", raising=False)
    package_folder = tmp_path / "package"
    package_folder.mkdir()
    (package_folder / "package.json").write_text("{}")
    (package_folder / "package-lock.json").write_text('{"lockfileVersion": 3}')
    return package_folder


def calls(folder: Path) -> int:
    return len((folder / "count").read_text().splitlines())


def test_processes_at_once_install_once(package: Path, tmp_path: Path) -> None:
    """The second process waits for the first and installs nothing."""
    code = f"import pathlib; from localnet import npm; print(npm.node_modules(pathlib.Path({str(package)!r})))"
    runs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = {run.communicate(timeout=600)[0].strip() for run in runs}
    assert [run.returncode for run in runs] == [0, 0, 0, 0]
    assert len(outputs) == 1
    assert (Path(outputs.pop()) / "thing").is_dir()
    assert calls(tmp_path) == 1


def test_another_lock_file_is_another_folder(package: Path, tmp_path: Path) -> None:
    """What a lock file names is never mixed with what another one does."""
    first = npm.node_modules(package)
    assert npm.is_installed(package)
    (package / "package-lock.json").write_text('{"lockfileVersion": 3, "name": "other"}')
    assert not npm.is_installed(package)
    assert npm.node_modules(package) != first
    assert calls(tmp_path) == 2


def test_a_failed_installation_is_told_and_tried_again(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Npm's own words and the line to try are reported, and an incomplete installation never counts as one."""
    monkeypatch.setenv("FAIL", "1")
    with pytest.raises(Missing, match="registry is gone") as error:
        npm.node_modules(package)
    assert "npm ci --ignore-scripts" in error.value.remedy
    monkeypatch.delenv("FAIL")
    assert (npm.node_modules(package) / "thing").is_dir()
    assert calls(tmp_path) == 2


def test_a_machine_without_npm_is_told_what_to_install(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Node.js neither is nor can be got, the line that installs it is named."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(Missing, match=r"no Node\.js 20\.19 or newer with npm") as error:
        npm.node_modules(package)
    assert "apt install nodejs npm" in error.value.remedy


def test_the_lock_file_names_the_public_registry_and_digests_only() -> None:
    """Every package is pinned by digest and comes from registry.npmjs.org."""
    packages_locked = json.loads((npm.NODES / "package-lock.json").read_text())["packages"]
    packages = {name: one for name, one in packages_locked.items() if name}
    assert len(packages) == 2
    for package in packages.values():
        assert package["resolved"].startswith("https://registry.npmjs.org/")
        assert package["integrity"].startswith("sha512-")
