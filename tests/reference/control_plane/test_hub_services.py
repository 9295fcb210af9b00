"""Registering, replacing and removing services (7.1)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reference.control_plane.hub_stack import SERVICES, Hub

URL = "http://127.0.0.1:9"


async def remove(plane: Hub, segment: str) -> tuple[int, bytes]:
    answer = await plane.http.delete(f"{SERVICES}/{segment}", headers=plane.admin)
    return answer.status_code, answer.content


async def test_a_service_is_registered_with_its_record(either: Hub) -> None:
    """201; what is left out has its default; the posture lists it, the health document counts it."""
    answer = await either.serve("my-addon")
    record = {"name": "my-addon", "type": "addon", "base_url": URL, "health_path": "/health"}
    assert (answer.status_code, answer.json()) == (201, {**record, "registered_at": answer.json()["registered_at"]})
    assert [one["name"] for one in (await either.posture())["services"]] == ["my-addon"]
    assert (await either.http.get("/health")).json()["services"] == 1


async def test_the_same_record_again_changes_nothing(either: Hub) -> None:
    """200 with the record as it was, and no entry: services register again and again."""
    first = await either.serve("a")
    before = await either.entries()
    again = await either.serve("a")
    assert (again.status_code, again.json()) == (200, first.json())
    assert await either.entries() == before


async def test_another_record_replaces_the_old_one(either: Hub) -> None:
    """200; it is not listed twice, and keeps its place."""
    await either.serve("a")
    await either.serve("b")
    answer = await either.serve("a", "http://127.0.0.1:8/base/", type="rail", health_path="/up?deep=1")
    assert answer.status_code == 200
    services_shown = (await either.posture(admin=True))["services"]
    assert [(one["name"], one["type"], one["base_url"], one["health_path"]) for one in services_shown] == [
        ("a", "rail", "http://127.0.0.1:8/base/", "/up?deep=1"),
        ("b", "addon", URL, "/health"),
    ]


async def test_a_removed_service_is_gone(either: Hub) -> None:
    """204, then 404; the name may be registered again."""
    await either.serve("a.b_c-1")
    assert await remove(either, "a.b_c-1") == (204, b"")
    assert await remove(either, "a.b_c-1") == (404, b'{"detail":"Not Found"}')
    assert (await either.posture())["status"] == "empty"
    assert (await either.serve("a.b_c-1")).status_code == 201


@pytest.mark.parametrize("segment", ["b", "%00", "%FF", "a%20", "A", "a%0A", "a" * 65, "..%2Fissuers"])
async def test_an_unknown_name_is_404_and_changes_nothing(plane: Hub, segment: str) -> None:
    """Whatever stands in the path."""
    await plane.serve("a")
    assert await remove(plane, segment) == (404, b'{"detail":"Not Found"}')
    assert await plane.entries() == [("service.registered", "a")]


@pytest.mark.parametrize(
    "changes",
    [
        *({"name": one} for one in (None, "", 1, "a b", "a/b", "é", "a\n", "a" * 65)),
        *({"type": one} for one in (None, "", 1, "a b", "é", "a" * 65)),
        *(
            {"base_url": one}
            for one in (None, "", 1, "localhost:1", "ftp://h", "http://", "http:///x", "//h", "http:h")
        ),
        *(
            {"base_url": f"http://{one}"}
            for one in ("u:p@h", "u@h", "h?x=1", "h#f", "h?", "h#", "h:0", "h:65536", "h:x")
        ),
        *(
            {"base_url": f"http://{one}"}
            for one in ("h h", "h\n", "h\r\nX: y", "é", "[::1", "[x]", "h\\@e", ":80", "h/é")
        ),
        {"base_url": "http://h/" + "a" * 2048},
        *(
            {"health_path": one}
            for one in (None, "", 1, "health", "/a b", "/a#b", "/é", "/a\r\nX: y", "/" + "a" * 2048)
        ),
    ],
)
async def test_what_is_no_service_is_refused_and_changes_nothing(plane: Hub, changes: dict[str, Any]) -> None:
    """422 with `detail`, which does not repeat the value; no entry."""
    answer = await plane.http.post(SERVICES, json={"name": "a", "base_url": URL, **changes}, headers=plane.admin)
    assert answer.status_code == 422, answer.text
    assert [one["loc"] for one in answer.json()["detail"]] == [["body", next(iter(changes))]]
    assert await plane.entries() == []


@pytest.mark.parametrize("missing_member", ["name", "base_url"])
async def test_name_and_address_are_required(plane: Hub, missing_member: str) -> None:
    """422 at the member."""
    body = {name: value for name, value in {"name": "a", "base_url": URL}.items() if name != missing_member}
    answer = await plane.http.post(SERVICES, json=body, headers=plane.admin)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", missing_member])


@pytest.mark.parametrize(
    "base_url",
    ["http://h", "https://h.example:443/a/b", "http://127.0.0.1:1/", "http://[::1]:8095", "http://a_b.local/~x"],
)
async def test_what_is_a_service_is_taken_with_members_nobody_knows(plane: Hub, base_url: str) -> None:
    """P-CV-14; the address is kept as it was sent."""
    answer = await plane.serve("a" * 64, base_url, version="1", more={"a": 1})
    assert (answer.status_code, answer.json()["base_url"]) == (201, base_url)
