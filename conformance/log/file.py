"""The event log on disk: lines of JSON in gzip, in which a long body stands once; `events` says what the lines hold."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeGuard

import orjson

from conformance.text.files import format_size

# What is read of a log, which others may have written: bytes unpacked, bytes of a line, lines, and letters of bodies
# that lines refer to. A whole run has a hundredth of it.
LARGEST_LOG: Final = 256 * 1024 * 1024
LONGEST_LINE: Final = 16 * 1024 * 1024
MOST_LINES: Final = 2_000_000
MOST_LETTERS: Final = 1024 * 1024 * 1024
# Bytes that are unpacked at a time.
_PIECE: Final = 1024 * 1024
_SIDES: Final = ("request", "response")
# Letters from which on a body is written once.
_LONG_BODY: Final = 100
_GZIP_START: Final = b"\x1f\x8b"
_GZIP: Final = 16 + zlib.MAX_WBITS
# A level more takes a third more time and saves a fiftieth; one less writes a fifth more.
_LEVEL: Final = 4
_CHUNK_BYTES: Final = 65_536
_FLUSH_SECONDS: Final = 1.0


class LogFile:
    """Writes events; what it has been given can be read back a second later at most, once the next one comes."""

    def __init__(self, path: Path) -> None:
        # A link that somebody left in the folder is replaced, and the file that it names is not overwritten.
        if path.is_symlink():
            path.unlink()
        self._file = path.open("wb")
        self._gzip = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        self._unwritten = bytearray()
        self._last_flush = float("-inf")
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
        self._unwritten += orjson.dumps(line, default=str)
        self._unwritten += b"\n"
        self._places |= new
        self._lines = number
        now = time.monotonic()
        if now - self._last_flush >= _FLUSH_SECONDS:
            self._pass_on(zlib.Z_SYNC_FLUSH)
            self._last_flush = now
        elif len(self._unwritten) >= _CHUNK_BYTES:
            self._pass_on(zlib.Z_NO_FLUSH)

    def close(self) -> None:
        """Write the rest and the end."""
        self._pass_on(zlib.Z_FINISH)
        self._file.close()

    def _pass_on(self, mode: int) -> None:
        data = self._gzip.compress(self._unwritten)
        if mode != zlib.Z_NO_FLUSH:
            data += self._gzip.flush(mode)
        self._unwritten.clear()
        if data:
            self._file.write(data)
            self._file.flush()


def read_numbered_events(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the lines of an event log as JSON values, bodies in their places, with their numbers from 1.

    A last line without its line feed, which a sudden end of the run left, is left out. The file may be plain.

    Raises:
        ValueError: A line is not JSON, the file is damaged, or it is larger than any log; the text says where.
    """
    bodies: dict[tuple[int, str], str] = {}
    letters = 0
    for number, line in enumerate(_lines(path), start=1):
        if number > MOST_LINES:
            raise ValueError(f"{path}: more than {MOST_LINES} lines, of which no more is read")
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError as fault:
            raise ValueError(f"{path}: line {number} is not JSON: {fault}") from fault
        for side, body in _bodies(event):
            if isinstance(body, dict):
                try:
                    event[side]["body"] = body_text = bodies[body["line"], body["of"]]
                    letters += len(body_text)
                except (KeyError, TypeError) as fault:
                    raise ValueError(f"{path}: line {number} refers to a body that does not come before it") from fault
            elif _is_long(body):
                bodies[number, side] = body
        if letters > MOST_LETTERS:
            raise ValueError(f"{path}: line {number}: bodies are repeated beyond {MOST_LETTERS} letters")
        yield number, event


def _lines(path: Path) -> Iterator[bytes]:
    remainder = b""
    for part in _text(path):
        *complete_lines, remainder = (remainder + part).split(b"\n")
        if len(remainder) > LONGEST_LINE:
            raise ValueError(f"{path}: a line is longer than {format_size(LONGEST_LINE)}, of which no more is read")
        yield from complete_lines


def _text(path: Path) -> Iterator[bytes]:
    """Yield what a file holds, unpacked, in pieces.

    Raises:
        ValueError: It is damaged, or longer than a log may be.
    """
    length = 0
    for piece in _pieces(path):
        length += len(piece)
        if length > LARGEST_LOG:
            raise ValueError(f"{path} holds more than {format_size(LARGEST_LOG)} unpacked, of which no more is read")
        yield piece


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        is_gzip = file.read(len(_GZIP_START)) == _GZIP_START
        file.seek(0)
        gzip = zlib.decompressobj(_GZIP)
        while data := file.read(_CHUNK_BYTES):
            if not is_gzip:
                yield data
                continue
            try:
                while data and not gzip.eof:
                    yield gzip.decompress(data, _PIECE)
                    data = gzip.unconsumed_tail
            except zlib.error as fault:
                raise ValueError(f"{path} is damaged: {fault}") from fault
        if is_gzip:
            yield gzip.flush()


def _bodies(event: Any) -> Iterator[tuple[str, Any]]:
    for side in _SIDES if isinstance(event, dict) else ():
        message = event.get(side)
        if isinstance(message, dict):
            yield side, message.get("body")


def _is_long(body: Any) -> TypeGuard[str]:
    return isinstance(body, str) and len(body) >= _LONG_BODY
