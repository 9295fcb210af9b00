"""The event log takes whatever a target sends, and the file says what the memory says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.log.events import EventLog, read_log
from conformance.text.json_safe import json_safe

ANY_TEXT = st.text(st.characters(exclude_categories=()))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(ANY_JSON)
def test_encodable_values_are_taken_by_a_strict_encoder(value: Any) -> None:
    """Every reader takes the result: no NaN, no huge integer, no lone surrogate."""
    safe = json_safe(value)
    assert json.loads(json.dumps(safe, allow_nan=False)) == orjson.loads(orjson.dumps(safe))


@pytest.mark.parametrize(
    "found_value", ["plain", "\ud800 lone", 2**70, {"\udfff": [2**64, "\ud800"]}, {1: "x"}, Path("p")]
)
def test_the_file_holds_what_a_listener_heard(tmp_path: Path, found_value: object) -> None:
    """A lone surrogate or a huge integer of a target neither stops the suite nor splits file and memory."""
    log = EventLog(tmp_path / "deep" / "events.ndjson")
    events_heard: list[Any] = []
    log.listen(events_heard.append)
    log.add("note", check="a", found=found_value)
    log.close()
    assert len(read_log(tmp_path / "deep" / "events.ndjson")) == len(events_heard) == 1
    if not isinstance(found_value, Path):
        assert read_log(tmp_path / "deep" / "events.ndjson") == log.events == tuple(events_heard)


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"event": 1}'])
def test_a_line_that_is_no_event_is_named(tmp_path: Path, content: bytes) -> None:
    """Reading says which line is wrong."""
    (tmp_path / "log").write_bytes(b'{"event":"note"}\n' + content + b"\n")
    with pytest.raises(ValueError, match="line 2"):
        read_log(tmp_path / "log")


def test_a_log_that_a_sudden_end_tore_is_read_up_to_there(tmp_path: Path) -> None:
    """The last line without its line feed is left out; a bad line inside is named."""
    path = tmp_path / "events.ndjson"
    path.write_bytes(b'{"event":"note","text":"a"}\n{"event":"no')
    assert [event["text"] for event in read_log(path)] == ["a"]
    path.write_bytes(b'{"event":"note"}\n{"event":\n{"event":"note"}\n')
    with pytest.raises(ValueError, match="line 2"):
        read_log(path)
