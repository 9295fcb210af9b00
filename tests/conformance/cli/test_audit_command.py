"""`weldproof audit verify`: what it reads, what it says, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner, Result

from conformance.cli import audit, main
from conformance.oracles.audit_chain import mac_of
from tests.conformance.served import Answer, Served, serve

KEY = bytes(range(32))
TOKEN = "the-admin-token-of-this-hub"
Log = list[dict[str, Any]]


def log_of(count: int) -> Log:
    """Return a log of some length."""
    entries: Log = []
    for seq in range(1, count + 1):
        before = entries[-1]["mac"] if entries else "0" * 64
        entry = {"seq": seq, "ts_ms": seq, "actor": "admin", "action": "issuer.revoked", "subject": f"did:web:{seq}"}
        entry |= {"payload": {"kid": "00"}, "prev_mac": before}
        entries.append({**entry, "mac": mac_of(entry, KEY)})
    return entries


LOG = log_of(9)
HEAD = {"seq": 9, "mac": LOG[-1]["mac"]}


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A file with the chain key."""
    path = tmp_path / "audit_key"
    path.write_text(KEY.hex() + "\n")
    return path


def ran(source: str, key: Path, *words: str, text: str | None = None, **environment: str) -> Result:
    """Run the command."""
    words = ("audit", "verify", source, "--key-file", str(key), *words)
    return CliRunner().invoke(main, list(words), input=text, env=environment)


def file(tmp_path: Path, text: str) -> str:
    """Write a log and return its path."""
    path = tmp_path / "log.json"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    "text",
    [json.dumps(LOG), json.dumps({"entries": LOG, "count": 9, "head": HEAD}), "\n".join(map(json.dumps, LOG)) + "\n"],
)
def test_a_whole_log_passes(text: str, tmp_path: Path, key: Path) -> None:
    """An array, an answer, and one entry a line: exit code 0; standard input too."""
    result = ran(file(tmp_path, text), key)
    assert (result.exit_code, result.output.split(",")[0]) == (0, "complete: 9 entries")
    assert ran("-", key, text=text).exit_code == 0


@pytest.mark.parametrize(
    ("log", "kind", "seq"),
    [
        ([{**one, "actor": "x"} if one["seq"] == 4 else one for one in LOG], "altered", 4),
        (LOG[:3] + LOG[4:], "missing", 4),
        ([*LOG[:3], LOG[4], LOG[3], *LOG[5:]], "reordered", 5),
        (LOG[:6], "cut_tail", 7),
    ],
)
def test_the_first_fault_ends_with_one(log: Log, kind: str, seq: int, tmp_path: Path, key: Path) -> None:
    """Altered, missing, reordered and a cut tail are named, for people and for programs; exit code 1."""
    source = file(tmp_path, json.dumps({"entries": log, "head": HEAD}))
    result = ran(source, key, "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["valid"], document["fault"]["kind"], document["fault"]["seq"]) == (
        1,
        False,
        kind,
        seq,
    )
    assert ran(source, key).output.startswith(f"{kind}: ")


def test_the_noted_head_goes_before_the_one_in_the_answer(tmp_path: Path, key: Path) -> None:
    """An operator who cut the log may have reported another head; the file kept separately has the right one."""
    source = file(tmp_path, json.dumps({"entries": LOG[:6], "head": {"seq": 6, "mac": LOG[5]["mac"]}}))
    noted_head = tmp_path / "audit_head"
    noted_head.write_text(json.dumps(HEAD))
    assert ran(source, key).exit_code == 0
    assert ran(source, key, "--head-file", str(noted_head)).exit_code == 1
    assert "missing tail would not be noticed" in ran(file(tmp_path, json.dumps(LOG[:6])), key).output


def test_what_cannot_be_used_ends_with_two(tmp_path: Path, key: Path) -> None:
    """No log, no key, no token: exit code 2, a sentence, and never the key's text."""
    good = file(tmp_path, json.dumps(LOG))
    odd = tmp_path / "odd"
    odd.write_text("secret-that-is-no-hex")
    assert ran(str(tmp_path / "nowhere"), key).exit_code == 2
    assert ran(good, tmp_path / "nowhere").exit_code == 2
    assert ran(good, key, "--head-file", str(key)).exit_code == 2
    assert ran("http://127.0.0.1:9", key).exit_code == 2
    refused_run = ran(good, odd)
    assert (refused_run.exit_code, "secret-that" in refused_run.output) == (2, False)
    for text in ("", "{}", "[1", '{"entries": 3}', '{"seq": 1, "seq": 1, "mac": ""}'):
        assert ran("-", key, text=text).exit_code == 2


@pytest.fixture
def hub() -> Iterator[Served]:
    """A control plane that returns four entries at a time to any client with the token."""

    def answer(method: str, target: str, headers: Any, _: bytes) -> tuple[int, Any]:
        if method != "GET" or headers.get("Authorization") != f"Bearer {TOKEN}":
            return 401, {"detail": "Unauthorized"}
        parts = urlsplit(target)
        after = int(parse_qs(parts.query).get("after", ["0"])[0])
        page = [one for one in LOG if one["seq"] > after][:4]
        return (200, {"entries": page, "count": 9, "head": HEAD}) if parts.path == "/v1/audit" else (404, {})

    with serve(answer) as hub_server:
        yield hub_server


def test_a_hub_is_read_page_by_page(hub: Served, key: Path, tmp_path: Path) -> None:
    """All pages are read, with the token of a file or of the environment."""
    token = tmp_path / "admin_token"
    token.write_text(TOKEN + "\n")
    result = ran(hub.url, key, "--token-file", str(token), "--json")
    assert (result.exit_code, json.loads(result.stdout)["entries"]) == (0, 9)
    assert ran(hub.url + "/v1/audit", key, WELDPROOF_HUB_TOKEN=TOKEN).exit_code == 0


def test_a_log_that_cannot_be_had_ends_with_three(hub: Served, key: Path) -> None:
    """A wrong token, another path, no server: exit code 3, and the token is not printed."""
    for url, token in ((hub.url, "wrong-token"), (hub.url + "/elsewhere", TOKEN), ("http://127.0.0.1:9", TOKEN)):
        result = ran(url, key, WELDPROOF_HUB_TOKEN=token)
        assert (result.exit_code, token in result.output) == (3, False)


def endless(seq: int, size: int) -> Answer:
    """Return a hub that has one more entry on each page; 0 as `seq` counts on."""

    def answer(_: str, target: str, __: Any, ___: bytes) -> tuple[int, Any]:
        after = int(parse_qs(urlsplit(target).query).get("after", ["0"])[0])
        return 200, {"entries": [{"seq": seq or after + 1, "x": "x" * size}], "head": {"seq": 10**9, "mac": "00"}}

    return answer


def test_pages_without_an_end_end_with_three(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pages together have a bound in bytes and in time."""
    monkeypatch.setattr(audit, "_MOST_BYTES", 100_000)
    with serve(endless(0, 10_000)) as hub:
        result = ran(hub.url, key, WELDPROOF_HUB_TOKEN=TOKEN)
    assert (result.exit_code, "more than 100000 bytes" in result.output) == (3, True)
    monkeypatch.setattr(audit, "_MOST_SECONDS", 0.5)
    with serve(endless(0, 0)) as hub:
        result = ran(hub.url, key, WELDPROOF_HUB_TOKEN=TOKEN)
    assert (result.exit_code, "did not serve the complete log within" in result.output) == (3, True)


def test_a_hub_that_counts_no_further_is_judged(key: Path) -> None:
    """Its entries are not asked for again and again."""
    with serve(endless(1, 0)) as hub:
        assert ran(hub.url, key, WELDPROOF_HUB_TOKEN=TOKEN).exit_code == 1


def test_a_page_without_an_end_ends_with_three(hub: Served, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more of a page is read than of any other answer."""
    monkeypatch.setattr(audit, "LONGEST_BODY", 100)
    result = ran(hub.url, key, WELDPROOF_HUB_TOKEN=TOKEN)
    assert (result.exit_code, "longer than" in result.output, len(result.output.splitlines())) == (3, True, 1)
