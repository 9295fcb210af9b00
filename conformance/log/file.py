"""The event log on disk: JSON lines in gzip, which contain a long body once. `events` describes the lines."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeGuard

import orjson

from conformance.text.files import format_size

# Limits of a log that a stranger may have written: unpacked bytes, bytes of a line, number of lines, and characters of
# the bodies that lines refer to. They stop a small file that unpacks to more than the memory. A whole run has a
# hundredth of them.
LARGEST_LOG: Final = 256 * 1024 * 1024
LONGEST_LINE: Final = 16 * 1024 * 1024
MOST_LINES: Final = 2_000_000
MOST_LETTERS: Final = 1024 * 1024 * 1024
# Bytes that are unpacked at a time.
_PIECE: Final = 1024 * 1024
_SIDES: Final = ("request", "response")
# Characters from which on a body is written once.
_LONG_BODY: Final = 100
_GZIP_START: Final = b"\x1f\x8b"
_GZIP: Final = 16 + zlib.MAX_WBITS
# The next higher level takes a third more time and saves a fiftieth; the next lower one writes a fifth more.
_LEVEL: Final = 4
_CHUNK_BYTES: Final = 65_536
_FLUSH_SECONDS: Final = 1.0


class LogFile:
    """Writes events to a compressed file, and flushes it at most once a second."""

    def __init__(self, path: Path) -> None:
        # A symbolic link in the folder is replaced, so that the file that it names is not overwritten.
        if path.is_symlink():
            path.unlink()
        self._file = path.open("wb")
        self._gzip = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        self._unwritten = bytearray()
        self._last_flush = float("-inf")
        self._lines = 0
        self._places: dict[str, tuple[int, str]] = {}

    def write(self, event: Mapping[str, Any]) -> None:
        """Write one event; a value of a type that JSON lacks becomes its text.

        Raises:
            TypeError: The event contains a value that JSON in UTF-8 cannot carry; nothing is written.
        """
        number = self._lines + 1
        line = dict(event)
        # New places are remembered only after the line is encoded: a line that raises is not written, and no
        # later line may refer to it.
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
        # A flush makes everything before it readable, even if the process is killed, and costs some bytes.
        # Therefore it happens by time and not for each event.
        if now - self._last_flush >= _FLUSH_SECONDS:
            self._pass_on(zlib.Z_SYNC_FLUSH)
            self._last_flush = now
        elif len(self._unwritten) >= _CHUNK_BYTES:
            self._pass_on(zlib.Z_NO_FLUSH)

    def close(self) -> None:
        """Write the remaining events and the end of the gzip stream."""
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
    """Yield the number, from 1, and the JSON value of each line, with bodies put back in their places.

    A last line without its line feed, which a sudden end of the run leaves, is left out. The file may be uncompressed.

    Raises:
        ValueError: A line is not JSON, or the file is damaged or too large; the text contains the place.
    """
    bodies: dict[tuple[int, str], str] = {}
    letters = 0
    for number, line in enumerate(_lines(path), start=1):
        if number > MOST_LINES:
            raise ValueError(f"{path}: more than {MOST_LINES} lines, which is the limit")
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
        # A reference of a few bytes stands for a body of megabytes, so the limit on unpacked bytes alone would
        # not bound the memory.
        if letters > MOST_LETTERS:
            raise ValueError(f"{path}: line {number}: bodies are repeated beyond {MOST_LETTERS} letters")
        yield number, event


def _lines(path: Path) -> Iterator[bytes]:
    remainder = b""
    for part in _text(path):
        *complete_lines, remainder = (remainder + part).split(b"\n")
        if len(remainder) > LONGEST_LINE:
            raise ValueError(f"{path}: a line is longer than {format_size(LONGEST_LINE)}, which is the limit")
        yield from complete_lines


def _text(path: Path) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file in pieces.

    Raises:
        ValueError: The file is damaged, or longer than a log may be.
    """
    length = 0
    for piece in _pieces(path):
        length += len(piece)
        if length > LARGEST_LOG:
            raise ValueError(f"{path} holds more than {format_size(LARGEST_LOG)} unpacked, which is the limit")
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
