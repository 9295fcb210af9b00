"""The project's cache: where it lies, and that a thing in it is whole, made once, and of one version."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from programs import cache


def test_one_variable_moves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """WELDPROOF_CACHE comes before XDG_CACHE_HOME, and that before the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("WELDPROOF_CACHE", raising=False)
    assert cache.folder() == tmp_path / "home" / ".cache" / "weldproof"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "weldproof"
    monkeypatch.setenv("WELDPROOF_CACHE", str(tmp_path / "own"))
    assert cache.folder() == tmp_path / "own"


def test_other_pins_are_another_folder(tmp_path: Path) -> None:
    """What one file of pins names never lies where another's does."""
    pins = tmp_path / "pins"
    pins.write_text("a==1")
    first = cache.home("kind", pins)
    assert first == cache.home("kind", pins)
    assert first != cache.home("kind", pins, "3.12")
    pins.write_text("a==2")
    assert first != cache.home("kind", pins)


def test_those_who_want_the_same_thing_make_it_once(tmp_path: Path) -> None:
    """Threads wait for the first; an incomplete result is made again."""
    place, calls = tmp_path / "thing", list[str]()

    def fails() -> None:
        (place / "half").touch()
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        cache.make_once(place, fails)
    assert not cache.is_whole(place)

    def make() -> None:
        calls.append("made")
        time.sleep(0.2)

    threads = [threading.Thread(target=cache.make_once, args=(place, make)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == ["made"]
    assert cache.is_whole(place)
