"""The breaches of the servers in `examples/second`: each can be put in, and each page tells what was kept."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from conformance.ledger import load
from tools.breaches.__main__ import found_by
from tools.breaches.breach import Breach, Edit, breaches, broken, keep, kept
from tools.breaches.page import page
from tools.breaches.servers import SERVERS, Server

HAND_MADE = """
[[breach]]
id = "a"
clause = "1"
judged = "must"
asked = ["RAIL-402"]
named = "RAIL-402-01"
[[breach.edits]]
file = "s.mjs"
find = "402"
put = "200"

[[breach]]
id = "b"
clause = "2"
judged = "should"
asked = ["RAIL-402"]
[[breach.edits]]
file = "s.mjs"
find = "no-store"
put = "public"
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A server of one file, with two breaches."""
    folder = tmp_path / "server"
    folder.mkdir()
    (folder / "s.mjs").write_text("402 no-store", "utf-8")
    (folder / "breaches.toml").write_text(HAND_MADE, "utf-8")
    return folder


@pytest.mark.parametrize("name", SERVERS)
def test_each_breach_changes_what_stands_there(name: str, tmp_path: Path) -> None:
    """Every text that a breach replaces stands once in its file, and what is kept is of these breaches."""
    server = SERVERS[name]
    for breach in breaches(server.source):
        broken(breach, server.source, tmp_path / breach.id)
        assert breach.named is None or breach.named in load()
    assert set(kept(server.source)) <= {one.id for one in breaches(server.source)}


@pytest.mark.parametrize("name", SERVERS)
def test_the_page_tells_what_was_kept(name: str) -> None:
    """It is what the tool makes of the list and of what was found."""
    server = SERVERS[name]
    text = (server.source / "breaches.md").read_text("utf-8")
    assert text == page(name, server, breaches(server.source), kept(server.source))


def test_a_text_that_stands_twice_is_no_breach(source: Path, tmp_path: Path) -> None:
    """It would be unclear which of them was changed."""
    (source / "s.mjs").write_text("402 402", "utf-8")
    with pytest.raises(ValueError, match=r"a: s\.mjs has 2 times"):
        broken(breaches(source)[0], source, tmp_path / "copy")


def test_the_source_itself_stays_sound(source: Path, tmp_path: Path) -> None:
    """A breach is put into a copy."""
    copy = broken(breaches(source)[0], source, tmp_path / "copy")
    assert (copy / "s.mjs").read_text("utf-8") == "200 no-store"
    assert (source / "s.mjs").read_text("utf-8") == "402 no-store"


def test_an_unknown_judgement_is_refused(source: Path) -> None:
    """A word that no count knows would leave a breach out of every rate."""
    (source / "breaches.toml").write_text(HAND_MADE.replace('"should"', '"perhaps"'), "utf-8")
    with pytest.raises(ValueError, match="'b'"):
        breaches(source)


def test_what_is_kept_is_in_the_order_of_the_list(source: Path) -> None:
    """However it was tried; what is in the list no more is forgotten."""
    for name in ("b", "gone", "a"):
        keep(source, name, ["RAIL-402-01"])
    assert list(kept(source)) == ["a", "b"]


def test_the_rates_are_those_of_what_a_must_forbids(source: Path) -> None:
    """A row that fails, one that only warns, and a row by name."""
    server = Server("a server", source, lambda _: nullcontext({}), _never)
    text = page("a", server, breaches(source), {"a": ["RAIL-402-01", "RAIL-402-18?"], "b": ["RAIL-402-18?"]})
    assert "| of a MUST | 1 | 1 | 0 | 0 | 0 | 1 |" in text
    assert "| of a SHOULD, which can only warn | 1 | 0 | 1 | 0 | 0 | 0 |" in text
    assert "Of 1 that a MUST forbids, 1 fail a row (100 %)" in text
    missed = page("a", server, breaches(source), {"a": []})
    assert "| `a` | 1 | MUST |  |  |  | **missed** |" in missed


def test_a_server_that_does_not_start_is_found(source: Path) -> None:
    """The caller that starts it gets an error."""
    server = Server("a server", source, lambda _: nullcontext({}), _never)
    breach = Breach("a", "1", "must", ("RAIL",), (Edit("s.mjs", "402", "200"),), None, "")
    assert found_by(server, {}, breach) == ["(it does not start)"]


def _never(*_: object) -> AbstractContextManager[Path]:
    raise RuntimeError("it did not start")


@pytest.mark.slow
def test_a_breach_is_caught() -> None:
    """The control: an agent that takes any signature is found by the rows that were kept."""
    server = SERVERS["agent"]
    breach = next(one for one in breaches(server.source) if one.id == "signature-not-asked")
    assert found_by(server, {}, breach) == kept(server.source)[breach.id]
