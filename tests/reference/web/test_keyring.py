"""The keyring on disk: no rotation is missed, and none that was cut off shows (P-KY-04, P-KY-08)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from reference.protocol.keys import SigningKey
from reference.web import keyring
from reference.web.clock import WpClock
from reference.web.keyring import KeyFile


@pytest.fixture
def file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "signing_key.pem", WpClock(), 365)


def test_a_rotation_shows_without_a_restart(file: KeyFile) -> None:
    """The new key is active at once, and the old ones follow it, newest first."""
    keys = [file().active.public]
    for now in (1_000, 2_000):
        keys.insert(0, keyring.rotate(file.path, now=int(file.clock.now()) + now))
    assert list(file().published_keys) == keys
    assert file().active.public == keys[0]


def test_a_rotation_within_one_tick_is_not_missed(file: KeyFile) -> None:
    """A file system's times come in steps: a key that replaced another in the same step is another one."""
    file()  # which makes it
    old = file().active.public
    before = file.path.stat().st_mtime_ns
    fresh = keyring.rotate(file.path, now=file.clock.now())
    os.utime(file.path, ns=(before, before))
    assert file().active.public == fresh != old


def test_a_rotation_while_the_file_is_read_is_not_missed(file: KeyFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that read the old key just before reads the new one at the next call."""
    file()
    keyring.rotate(file.path, now=file.clock.now())
    plainly, fresh = keyring.open_keyring, []

    def slowly(path: Path, **context: Any) -> keyring.Keyring:
        read = plainly(path, **context)
        fresh.append(keyring.rotate(path, now=file.clock.now()))
        monkeypatch.setattr(keyring, "open_keyring", plainly)
        return read

    monkeypatch.setattr(keyring, "open_keyring", slowly)
    before = file().active.public
    assert [before] != fresh
    assert file().active.public == fresh[0]


def test_a_rotation_that_was_cut_off_publishes_no_key_twice(file: KeyFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old key was retired and is still active: it is published once, as the active one."""
    old = file().active.public

    def write(path: Path, data: bytes) -> None:
        if path == file.path:
            raise KeyboardInterrupt
        path.write_bytes(data)

    monkeypatch.setattr(keyring, "write_secret", write)
    with pytest.raises(KeyboardInterrupt):
        keyring.rotate(file.path, now=file.clock.now())
    assert KeyFile(file.path, file.clock, 365)().published_keys == (old,)


@pytest.mark.parametrize("text", [b"", b"no key", None])
def test_a_file_that_breaks_leaves_the_last_good_keyring(file: KeyFile, text: bytes | None) -> None:
    """Signing does not wait for an operator; the fault is logged, and a repaired file is read again."""
    before, good = file(), file.path.read_bytes()
    assert file.fault == ""
    if text is None:
        file.path.unlink()
    else:
        file.path.write_bytes(text)
    assert [file(), file()] == [before, before]
    assert str(file.path) in file.fault
    assert file.path.exists() is (text is not None)
    file.path.write_bytes(good)
    assert (file(), file.fault) == (before, "")


def test_a_list_of_retired_keys_that_is_none_changes_nothing(file: KeyFile) -> None:
    """It is read with the key; so a rotation beside it is taken up once it is whole."""
    file()
    before = keyring.rotate(file.path, now=file.clock.now())
    ring = file()
    assert ring.active.public == before
    retired_file = file.path.with_name(file.path.name + ".retired.json")
    whole = retired_file.read_bytes()
    retired_file.write_bytes(b'[{"public_key_hex": 1}]')
    file.path.write_bytes(SigningKey.from_seed(bytes(32)).to_pem())
    assert (file(), "retired" in file.fault) == (ring, True)
    retired_file.write_bytes(whole)
    file.path.write_bytes(SigningKey.from_seed(bytes(31) + b"1").to_pem() + b"\n")
    assert file().active.public != before


def test_a_key_is_not_made_where_others_were_retired(file: KeyFile) -> None:
    """That file beside it says that this is no first start."""
    file()
    keyring.rotate(file.path, now=file.clock.now())
    file.path.unlink()
    with pytest.raises(keyring.KeyLost, match="Put the file back"):
        KeyFile(file.path, file.clock, 365)()
    assert not file.path.exists()
