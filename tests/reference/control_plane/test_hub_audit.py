"""The log: what is written, how it is chained, how it is read, and what a check of it finds (7.4)."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reference.control_plane.audit_log import AuditLog
from reference.control_plane.head_file import HeadFile
from reference.control_plane.settings import ControlPlaneSettings
from reference.protocol.audit_chain import Break, Flaw
from reference.store.audit_log import Audit
from reference.store.database_url import open_database
from reference.web.clock import WpClock
from tests.reference.control_plane.hub_stack import AUDIT, DID, Hub, alter, falcon_key, hub, kid_of

NOTHING = "0" * 64


def encode_entry(entry: Mapping[str, Any]) -> bytes:
    """The canonical form of an entry whose members are ASCII, by other means than the control plane's."""
    content = {name: value for name, value in entry.items() if name != "mac"}
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def holds(entries: Sequence[Mapping[str, Any]], key: bytes) -> bool:
    """Whether entries are a chain from the first one."""
    last = NOTHING
    for number, entry in enumerate(entries, 1):
        mac = hmac.new(key, encode_entry(entry), hashlib.sha256).hexdigest()
        if (entry["seq"], entry["prev_mac"], entry["mac"]) != (number, last, mac):
            return False
        last = mac
    return True


def key_of(settings: ControlPlaneSettings) -> bytes:
    return bytes.fromhex((settings.data_dir / "audit_key").read_text("ascii"))


async def fill_log(plane: Hub, number: int = 6) -> None:
    """Make a log of entries about issuers."""
    for place in range(number):
        await plane.register(f"did:web:i{place}.example")


async def test_every_change_of_trust_is_an_entry_of_one_chain(either: Hub) -> None:
    """Actions, subjects, payloads, times; each MAC is HMAC-SHA256 over the canonical form; the head is the last."""
    began = int(time.time() * 1000)
    old, new = falcon_key("old"), falcon_key("new")
    record = {"type": "addon", "base_url": "http://127.0.0.1:9", "health_path": "/health"}
    await either.register(DID, old)
    await either.register(DID, new)
    await either.serve("a")
    await either.serve("a", health_path="/up")
    await either.revoke()
    await either.http.delete("/v1/services/a", headers=either.admin)
    page = await either.audit()
    moved_record = {**record, "health_path": "/up"}
    assert [(one["action"], one["subject"], one["payload"]) for one in page["entries"]] == [
        ("issuer.registered", DID, {"kid": kid_of(old)}),
        ("issuer.rotated", DID, {"kid": kid_of(new), "previous_kid": kid_of(old)}),
        ("service.registered", "a", record),
        ("service.updated", "a", moved_record),
        ("issuer.revoked", DID, {"kid": kid_of(new)}),
        ("service.removed", "a", moved_record),
    ]
    assert {one["actor"] for one in page["entries"]} == {"admin"}
    assert holds(page["entries"], key_of(either.settings))
    assert page["head"] == {"seq": 6, "mac": page["entries"][-1]["mac"]}
    assert page["count"] == 6
    times = [one["ts_ms"] for one in page["entries"]]
    assert times == sorted(times)
    assert began <= times[0] <= times[-1] <= int(time.time() * 1000)
    assert await either.wait_for_check()


async def test_an_empty_log_is_whole(either: Hub) -> None:
    """Its head is 0 and zeros, in the answer and in the file."""
    assert await either.wait_for_check()
    empty = {"seq": 0, "mac": NOTHING}
    assert await either.audit() == {"entries": [], "count": 0, "head": empty, "valid": True}
    assert json.loads((either.data / "audit_head").read_bytes()) == empty


async def test_pages_of_the_log_follow_each_other(either: Hub) -> None:
    """`after` and `limit`; beyond the end there is nothing."""
    await fill_log(either, 5)
    whole = (await either.audit())["entries"]
    pages = [await either.audit(after=after, limit=2) for after in (0, 2, 4, 5, 99)]
    assert [page["entries"] for page in pages] == [whole[:2], whole[2:4], whole[4:], [], []]
    assert {page["count"] for page in pages} == {5}
    assert [page["valid"] for page in pages] == [await either.wait_for_check()] * 5


@pytest.mark.parametrize(
    "query",
    [
        *(
            "limit=0",
            "limit=1001",
            "limit=",
            "limit=x",
            "limit=1.0",
            "limit=-1",
            "limit=1&limit=2",
            "limit=%31%30%30%31",
        ),
        *("after=-1", "after=x", "after=9007199254740992", "after=99999999999999999999", "after=%D9%A1", "after=+1"),
        *("verify=", "verify=no", "verify=FULL", "verify=full&verify=full"),
    ],
)
async def test_a_query_that_means_nothing_is_refused(plane: Hub, query: str) -> None:
    """422 with the place of the parameter."""
    answer = await plane.http.get(f"{AUDIT}?{query}", headers=plane.admin)
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"][0]["loc"] == ["query", query.partition("=")[0]]


async def test_parameters_nobody_knows_are_ignored(plane: Hub) -> None:
    """P-CV-14 in spirit."""
    assert (
        await plane.http.get(f"{AUDIT}?a=1&limit=1000&after=9007199254740991", headers=plane.admin)
    ).status_code == 200


SWAP = (
    "UPDATE control_plane_audit SET seq = 1000 WHERE seq = 3",
    "UPDATE control_plane_audit SET seq = 3 WHERE seq = 4",
    "UPDATE control_plane_audit SET seq = 4 WHERE seq = 1000",
)
TAMPERED_STATEMENTS: dict[str, Sequence[str]] = {
    "subject": ["UPDATE control_plane_audit SET subject = 'did:web:evil.example' WHERE seq = 3"],
    "action": ["UPDATE control_plane_audit SET action = 'issuer.revoked' WHERE seq = 3"],
    "actor": ["UPDATE control_plane_audit SET actor = 'system' WHERE seq = 3"],
    "time": ["UPDATE control_plane_audit SET ts_ms = ts_ms + 1 WHERE seq = 3"],
    "payload": ['UPDATE control_plane_audit SET payload = \'{"kid":"0000000000000000"}\' WHERE seq = 3'],
    "payload that is no JSON": ["UPDATE control_plane_audit SET payload = 'x' WHERE seq = 3"],
    "previous MAC": ["UPDATE control_plane_audit SET prev_mac = mac WHERE seq = 3"],
    "MAC": ["UPDATE control_plane_audit SET mac = prev_mac WHERE seq = 3"],
    "missing": ["DELETE FROM control_plane_audit WHERE seq = 3"],
    "first missing": ["DELETE FROM control_plane_audit WHERE seq = 1"],
    "reordered": SWAP,
    "closed gap": [
        "DELETE FROM control_plane_audit WHERE seq = 3",
        "UPDATE control_plane_audit SET seq = 3 WHERE seq = 4",
        "UPDATE control_plane_audit SET seq = 4 WHERE seq = 5",
        "UPDATE control_plane_audit SET seq = 5 WHERE seq = 6",
    ],
    "cut tail": ["DELETE FROM control_plane_audit WHERE seq > 4"],
    "cut to nothing": ["DELETE FROM control_plane_audit"],
}


@pytest.mark.parametrize("how", TAMPERED_STATEMENTS)
async def test_a_log_that_was_tampered_with_is_found_while_it_runs(plane: Hub, how: str) -> None:
    """By a read of the page that holds the place, by a full check, and in the health document."""
    await fill_log(plane)
    assert await plane.wait_for_check()
    assert (await plane.http.get("/health")).json()["status"] == "ok"
    plane.alter(*TAMPERED_STATEMENTS[how])
    assert (await plane.audit())["valid"] is False
    assert (await plane.http.get("/health")).json()["status"] == "degraded"
    assert (await plane.audit(limit=1, verify="full"))["valid"] is False


@pytest.mark.parametrize("how", ["payload", "missing", "reordered", "cut tail"])
async def test_a_log_that_was_tampered_with_is_found_at_the_next_start(
    tmp_path: Path, database: dict[str, Any], how: str
) -> None:
    """And stays found when further entries follow; trust can still be withdrawn."""
    async with hub(tmp_path, **database) as plane:
        await fill_log(plane)
    alter(plane.settings, TAMPERED_STATEMENTS[how])
    async with hub(tmp_path, **database) as again:
        assert not await again.wait_for_check()
        assert (await again.revoke("did:web:i0.example")).status_code == 204
        assert "did:web:i0.example" not in await again.trust_set()
        await fill_log(again, 3)
    async with hub(tmp_path, **database) as later:
        assert not await later.wait_for_check()
        assert (await later.http.get("/health")).json()["status"] == "degraded"


async def test_a_page_is_checked_against_what_comes_before_it(either: Hub) -> None:
    """An entry behind the gap does not follow the one that is there before it."""
    await fill_log(either)
    assert await either.wait_for_check()
    either.alter("UPDATE control_plane_audit SET mac = prev_mac WHERE seq = 3")
    assert (await either.audit(after=3))["valid"] is False


async def test_payload_text_that_means_the_same_is_whole(either: Hub) -> None:
    """The check recomputes the canonical form: spaces in the stored text change nothing."""
    await fill_log(either, 2)
    either.alter("UPDATE control_plane_audit SET payload = ' ' || payload || ' ' WHERE seq = 1")
    page = await either.audit(verify="full")
    assert (page["valid"], page["entries"][0]["payload"]) == (True, {"kid": kid_of(falcon_key("did:web:i0.example"))})


async def test_a_payload_that_names_a_member_twice_is_altered(either: Hub) -> None:
    """Whatever a lenient reader makes of it."""
    await fill_log(either, 1)
    either.alter("""UPDATE control_plane_audit SET payload = '{"kid":"x",' || substr(payload, 2) WHERE seq = 1""")
    assert (await either.audit(verify="full"))["valid"] is False


async def test_validity_is_null_until_the_first_check_is_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The check runs in the background: calls are answered meanwhile, and the health document says degraded."""
    go, read = asyncio.Event(), Audit.after

    async def wait_and_read(self: Audit, seq: int, most: int) -> Any:
        if most == 1000:
            await go.wait()
        return await read(self, seq, most)

    monkeypatch.setattr(Audit, "after", wait_and_read)
    async with hub(tmp_path / "held") as plane:
        assert (await plane.register()).status_code == 201
        assert (await plane.audit(limit=1))["valid"] is None
        assert (await plane.http.get("/health")).json()["status"] == "degraded"
        go.set()
        assert await plane.wait_for_check()
        assert (await plane.http.get("/health")).json()["status"] == "ok"


async def test_entries_that_the_file_does_not_know_yet_are_fine(tmp_path: Path, database: dict[str, Any]) -> None:
    """A crash between the transaction and the file: the next start finds valid entries and moves the file on."""
    async with hub(tmp_path, **database) as plane:
        await fill_log(plane, 3)
        behind = (plane.data / "audit_head").read_bytes()
        await plane.register("did:web:later.example")
    (plane.data / "audit_head").write_bytes(behind)
    async with hub(tmp_path, **database) as again:
        assert await again.wait_for_check()
        assert json.loads((again.data / "audit_head").read_bytes()) == (await again.audit())["head"]
        assert (await again.audit())["head"]["seq"] == 4


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"{}", b"[]", b"\xff", b'{"seq":"3","mac":"0"}'),
        *(b'{"seq":' + seq + b',"mac":"' + b"0" * 64 + b'"}' for seq in (b"true", b"-1", b"18446744073709551615")),
    ],
)
async def test_a_file_that_names_no_entry_breaks_the_chain(tmp_path: Path, text: bytes) -> None:
    """The original entries are unknown; the file is left as it is."""
    async with hub(tmp_path) as plane:
        await fill_log(plane, 2)
    (plane.data / "audit_head").write_bytes(text)
    async with hub(tmp_path) as again:
        assert not await again.wait_for_check()
        assert (await again.register("did:web:later.example")).status_code == 201
        assert (again.data / "audit_head").read_bytes() == text


async def test_a_file_that_is_missing(tmp_path: Path, database: dict[str, Any]) -> None:
    """SQLite: an attacker that can cut the log can delete the file: a broken chain. PostgreSQL: the host is new."""
    async with hub(tmp_path, **database) as plane:
        await fill_log(plane, 2)
    (plane.data / "audit_head").unlink()
    async with hub(tmp_path, **database) as again:
        assert await again.wait_for_check() is bool(database)
        assert (again.data / "audit_head").exists() is bool(database)


async def test_a_missing_file_is_found_before_anybody_reads_the_log(tmp_path: Path) -> None:
    """The check at the start finds it itself, so that health never calls such a log whole."""
    async with hub(tmp_path) as plane:
        await fill_log(plane, 2)
    settings = plane.settings
    settings.audit_head_file.unlink()
    database = open_database(settings.dsn)
    try:
        head = HeadFile(settings.audit_head_file)
        log = AuditLog(Audit(database), key_of(settings), head, WpClock(), is_shared=False)
        assert await log.check() == Break(3, Flaw.CUT)
        assert log.is_whole is False
    finally:
        await database.close()


async def test_another_chain_key_breaks_the_chain(tmp_path: Path, database: dict[str, Any]) -> None:
    """The entries were not made under it."""
    async with hub(tmp_path, **database) as plane:
        await fill_log(plane, 2)
    (plane.data / "audit_key").write_text("11" * 32, "ascii")
    async with hub(tmp_path, **database) as again:
        assert not await again.wait_for_check()


async def test_secrets_and_head_are_for_the_owner_only(plane: Hub) -> None:
    """Mode 0600; the key is 32 bytes in hex, the token 43 base64url characters."""
    await plane.register()
    for name in ("admin_token", "audit_key", "audit_head"):
        assert stat.S_IMODE((plane.data / name).stat().st_mode) == 0o600
    assert len(key_of(plane.settings)) == 32
    assert len(plane.token) == 43


async def test_two_control_planes_on_one_database_write_one_chain(tmp_path: Path, database: dict[str, Any]) -> None:
    """What one changes the other publishes at once; entries of both are one chain."""
    async with hub(tmp_path, **database) as plane, hub(tmp_path, **database) as control_plane:
        tag = (await control_plane.http.get("/v1/issuer-pks")).headers["etag"]
        for number in range(4):
            await (plane, control_plane)[number % 2].register(f"did:web:i{number}.example")
        assert (
            list(await plane.trust_set())
            == list(await control_plane.trust_set())
            == [f"did:web:i{n}.example" for n in range(4)]
        )
        assert (await control_plane.http.get("/v1/issuer-pks")).headers["etag"] != tag
        page = await plane.audit(verify="full")
        assert (page["valid"], page["count"]) == (True, 4)
        assert json.loads((plane.data / "audit_head").read_bytes()) == page["head"]
