"""The event log on disk: lines of JSON in gzip, in which a long body stands once; `events` says what the lines hold."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeGuard

import orjson

_SIDES: Final = ("request", "response")
# Letters from which on a body is written once.
_LONG: Final = 100
_GZIP_START: Final = b"\x1f\x8b"
_GZIP: Final = 16 + zlib.MAX_WBITS
# A level more takes a third more time and saves a fiftieth; one less writes a fifth more.
_LEVEL: Final = 4
_TOGETHER: Final = 65_536
_FLUSHED_AFTER: Final = 1.0


class LogFile:
    """Writes events; what it has been given can be read back a second later at most, once the next one comes."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._gzip = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        self._waiting = bytearray()
        self._flushed = float("-inf")
        self._lines = 0
        self._places: dict[str, tuple[int, str]] = {}

    def write(self, event: Mapping[str, Any]) -> None:
        """Write one event; what JSON has no word for becomes its text.

        Raises:
            TypeError: It holds what JSON in UTF-8 cannot carry; nothing is written.
        """
        number = self._lines + 1
        line = dict(event)
        new: dict[str, tuple[int, str]] = {}
        for side, body in _bodies(event):
            if not _is_long(body):
                continue
            place = self._places.get(body) or new.setdefault(body, (number, side))
            if place != (number, side):
                line[side] = {**event[side], "body": {"line": place[0], "of": place[1]}}
        self._waiting += orjson.dumps(line, default=str)
        self._waiting += b"\n"
        self._places |= new
        self._lines = number
        now = time.monotonic()
        if now - self._flushed >= _FLUSHED_AFTER:
            self._pass_on(zlib.Z_SYNC_FLUSH)
            self._flushed = now
        elif len(self._waiting) >= _TOGETHER:
            self._pass_on(zlib.Z_NO_FLUSH)

    def close(self) -> None:
        """Write the rest and the end."""
        self._pass_on(zlib.Z_FINISH)
        self._file.close()

    def _pass_on(self, mode: int) -> None:
        data = self._gzip.compress(self._waiting)
        if mode != zlib.Z_NO_FLUSH:
            data += self._gzip.flush(mode)
        self._waiting.clear()
        if data:
            self._file.write(data)
            self._file.flush()


def numbered(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the lines of an event log as JSON values, bodies in their places, with their numbers from 1.

    A last line without its line feed, which a sudden end of the run left, is left out. The file may be plain.

    Raises:
        ValueError: A line is not JSON, or the file is damaged; the text says where.
    """
    bodies: dict[tuple[int, str], str] = {}
    for number, line in enumerate(_lines(path), start=1):
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError as fault:
            raise ValueError(f"{path}: line {number} is not JSON: {fault}") from fault
        for side, body in _bodies(event):
            if isinstance(body, dict):
                try:
                    event[side]["body"] = bodies[body["line"], body["of"]]
                except (KeyError, TypeError) as fault:
                    raise ValueError(f"{path}: line {number} refers to a body that does not come before it") from fault
            elif _is_long(body):
                bodies[number, side] = body
        yield number, event


def _lines(path: Path) -> Iterator[bytes]:
    rest = b""
    for part in _text(path):
        *whole, rest = (rest + part).split(b"\n")
        yield from whole


def _text(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        packed = file.read(len(_GZIP_START)) == _GZIP_START
        file.seek(0)
        gzip = zlib.decompressobj(_GZIP)
        while data := file.read(_TOGETHER):
            try:
                yield gzip.decompress(data) if packed else data
            except zlib.error as fault:
                raise ValueError(f"{path} is damaged: {fault}") from fault


def _bodies(event: Any) -> Iterator[tuple[str, Any]]:
    for side in _SIDES if isinstance(event, dict) else ():
        message = event.get(side)
        if isinstance(message, dict):
            yield side, message.get("body")


def _is_long(body: Any) -> TypeGuard[str]:
    return isinstance(body, str) and len(body) >= _LONG
