"""The environment of a checkout: what `make run` sets up before it runs."""

from __future__ import annotations

import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from programs import checkout
from programs.missing import Missing

PACKAGES = ("conformance", "localnet", "mutants", "openapi", "programs", "reference", "sim")


def checkout_at(folder: Path, text: str) -> list[Path]:
    for name in PACKAGES:
        inner = folder / name / "inner"
        inner.mkdir(parents=True)
        (inner / "module.py").write_text(text)
    return [folder / name / "inner" / "module.py" for name in PACKAGES]


def test_our_own_packages_are_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first run compiles nothing, even where Python was asked to keep no bytecode."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    files = checkout_at(tmp_path, "WHAT = 1\n")
    checkout.compile_ours(Path(sys.executable), tmp_path, lambda _: None)
    assert [file for file in files if not Path(cache_from_source(str(file))).exists()] == []


def test_what_cannot_be_compiled_is_told(tmp_path: Path) -> None:
    """The line names the file."""
    checkout_at(tmp_path, "WHAT = \n")
    with pytest.raises(Missing, match=r"module\.py"):
        checkout.compile_ours(Path(sys.executable), tmp_path, lambda _: None)
