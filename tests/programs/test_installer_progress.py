"""Running an installer: what is said meanwhile, and what is said when it fails."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from programs import installer_progress
from programs.missing import Missing


def test_large_downloads_are_told_with_their_size() -> None:
    """As uv and as pip name them; the rest of what they say is not passed on."""
    messages: list[str] = []
    lines = (
        "Resolved 3 packages\nDownloading solders (13.2MiB)\n  Downloading node-24.whl (61.1 MB)\n Downloaded solders"
    )
    installer_progress.run_installer(
        "installing", (sys.executable, "-c", f"print({lines!r})"), say=messages.append, remedy="r"
    )
    assert [line for line in messages if "so far" not in line] == ["  solders, 13.2MiB", "  node-24.whl, 61.1 MB"]


def test_no_silence_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installer that says nothing is said to be at work, again and again."""
    monkeypatch.setattr(installer_progress, "_SILENT_SECONDS", 0.1)
    messages: list[str] = []
    words = (sys.executable, "-c", "import time; time.sleep(3)")
    installer_progress.run_installer("installing all", words, say=messages.append, remedy="r")
    assert len(messages) > 1
    assert all(line.startswith("  installing all: ") and line.endswith(" s so far") for line in messages)


def test_a_failure_is_told_with_the_last_words_and_what_to_do() -> None:
    """The installer's own words and the remedy."""
    code = "import sys; print('no such version', file=sys.stderr); sys.exit(3)"
    with pytest.raises(Missing, match=r"(?s)installing: .* ended with 3\. It said: no such version.*to do: try this"):
        installer_progress.run_installer("installing", (sys.executable, "-c", code), say=print, remedy="try this")
    with pytest.raises(Missing, match="does not start"):
        installer_progress.run_installer("installing", ("/nowhere/pip",), say=print, remedy="r")


def test_a_file_with_several_names_counts_once(tmp_path: Path) -> None:
    """Uv links what its cache has."""
    (tmp_path / "a").write_bytes(bytes(3_000_000))
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    assert installer_progress.megabytes(tmp_path) == 3
