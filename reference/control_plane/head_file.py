"""The end of the audit log in a file beside the database, so that a tail that was cut off is missed (7.4)."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from reference.protocol.audit_chain import Head
from reference.protocol.canonical_json import MAX_INTEGER
from reference.web.keyring import make_secret, write_secret

_MAC = re.compile(r"[0-9a-f]{64}")


class HeadUnreadable(ValueError):
    """The file holds something else than a head."""


class HeadFile:
    """The last entry that is known to have been there. It only moves forward."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self) -> None:
        """Write the head of an empty log unless there is a file."""
        make_secret(self._path, _encode_head(Head()))

    def read_head(self) -> Head | None:
        """Return what the file says, None when there is none.

        Raises:
            HeadUnreadable: It holds something else.
        """
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise HeadUnreadable("audit_head cannot be read") from fault
        try:
            document = orjson.loads(text)
        except orjson.JSONDecodeError as fault:
            raise HeadUnreadable("audit_head is no JSON") from fault
        seq, mac = (document.get("seq"), document.get("mac")) if isinstance(document, dict) else (None, None)
        if type(seq) is not int or not 0 <= seq <= MAX_INTEGER or not isinstance(mac, str) or not _MAC.fullmatch(mac):
            raise HeadUnreadable("audit_head names no entry")
        return Head(seq, mac)

    def replace(self, last_head: Head | None, head: Head) -> bool:
        """Write a head; False when the file has changed since it was read as `last_head`."""
        with self._lock_folder():
            if self.read_head() != last_head:
                return False
            write_secret(self._path, _encode_head(head))
        return True

    @contextmanager
    def _lock_folder(self) -> Iterator[None]:
        """Keep other workers of this folder out for the moment of reading and writing."""
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def _encode_head(head: Head) -> bytes:
    return orjson.dumps({"seq": head.seq, "mac": head.mac})
