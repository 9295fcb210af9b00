"""The event log on disk: small, readable up to a sudden end, and the same to every reader as before."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.log.events import LOG, Event, EventLog, log_in, read_log

LONG = "a body that comes again and again; " * 10


def message(body: str | None) -> dict[str, Any]:
    """Return one side of an exchange."""
    return {"headers": [["k", "v"]], "body": body}


def record_log(path: Path, *bodies: tuple[str | None, str | None]) -> tuple[Event, ...]:
    """Write a log of exchanges with these bodies, and return what it held in memory."""
    log = EventLog(path)
    for n, (request_body, answer_body) in enumerate(bodies, start=1):
        log.add(
            "exchange",
            n=n,
            request=message(request_body),
            response=None if answer_body is None else message(answer_body),
        )
    log.close()
    return log.events


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a log as `zcat` shows them."""
    return [orjson.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def test_a_long_body_stands_once(tmp_path: Path) -> None:
    """Where it comes again stands the line and the side of its first place; short ones stay as they are."""
    log = record_log(tmp_path / LOG, (LONG, "short"), ("short", LONG), (None, None), (LONG + "!", LONG + "!"))
    written_lines = lines(tmp_path / LOG)
    assert [written_lines[0]["request"]["body"], written_lines[1]["request"]["body"]] == [LONG, "short"]
    assert written_lines[1]["response"]["body"] == {"line": 1, "of": "request"}
    assert written_lines[3]["response"]["body"] == {"line": 4, "of": "request"}
    assert read_log(tmp_path / LOG) == log


BODIES = st.none() | st.text(max_size=8) | st.sampled_from([LONG, LONG * 2, "é" * 200, "\ud800" * 120])


@given(st.lists(st.tuples(BODIES, BODIES), max_size=12))
def test_readers_see_what_was_recorded(tmp_path_factory: pytest.TempPathFactory, bodies: list[Any]) -> None:
    """Whatever bodies come in whatever order, the file read back is what the memory holds."""
    path = tmp_path_factory.mktemp("log") / LOG
    assert record_log(path, *bodies) == read_log(path)


def test_a_killed_run_leaves_its_log_up_to_there(tmp_path: Path) -> None:
    """After SIGKILL the beginning is there at least, and every line that is read is whole."""
    program = f"""
import os, signal, time
from pathlib import Path
from conformance.log.events import EventLog
log = EventLog(Path({str(tmp_path / LOG)!r}))
log.add("note", n=0)
time.sleep(1.1)
for n in range(1, 3000):
    log.add("note", n=n, text=str(n) * 50)
os.kill(os.getpid(), signal.SIGKILL)
"""
    result = subprocess.run(
        [sys.executable, "-c", program], check=False, env={**os.environ, "PYTHONPATH": str(Path.cwd())}
    )
    assert result.returncode == -signal.SIGKILL
    numbers = [event["n"] for event in read_log(tmp_path / LOG)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= 2


@pytest.mark.parametrize("bytes_left", [0, 1, 5, 40, 200, -9, -1])
def test_a_torn_file_is_read_up_to_its_last_whole_line(tmp_path: Path, bytes_left: int) -> None:
    """Wherever the file ends, what comes before is read."""
    log = record_log(tmp_path / LOG, *((f"{n} {LONG}", LONG) for n in range(200)))
    whole = (tmp_path / LOG).read_bytes()
    (tmp_path / LOG).write_bytes(whole[:bytes_left])
    events = read_log(tmp_path / LOG)
    assert events == log[: len(events)]
    assert len(events) == 200 or bytes_left >= 0


@pytest.mark.parametrize(
    "body", [{"line": 2, "of": "request"}, {"line": 1, "of": "nothing"}, {"line": [], "of": "request"}, {}]
)
def test_a_body_that_is_nowhere_is_told(tmp_path: Path, body: object) -> None:
    """A reference to what does not come before it names its line."""
    events: list[dict[str, Any]] = [
        {"event": "exchange", "request": message(LONG), "response": None},
        {"event": "exchange", "request": {"headers": [], "body": body}, "response": None},
    ]
    (tmp_path / LOG).write_bytes(gzip.compress(b"".join(orjson.dumps(event) + b"\n" for event in events)))
    with pytest.raises(ValueError, match="line 2"):
        read_log(tmp_path / LOG)


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    """A file whose middle is not what was written names itself."""
    record_log(tmp_path / LOG, *((os.urandom(200).hex(), None) for _ in range(50)))
    data = bytearray((tmp_path / LOG).read_bytes())
    data[len(data) // 2 : len(data) // 2 + 64] = bytes(64)
    (tmp_path / LOG).write_bytes(data)
    with pytest.raises(ValueError, match=LOG):
        read_log(tmp_path / LOG)


def test_a_folder_of_before_is_read_too(tmp_path: Path) -> None:
    """A plain log is found where there is no compressed one, and reads the same."""
    log = record_log(tmp_path / "new" / LOG, (LONG, LONG))
    plain = tmp_path / "old" / "events.ndjson"
    plain.parent.mkdir()
    plain.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in log))
    assert read_log(log_in(plain.parent)) == read_log(log_in(tmp_path / "new")) == log
    record_log(plain.parent / LOG, ("later", None))
    assert read_log(log_in(plain.parent))[0]["request"]["body"] == "later"
