"""`weldproof init`: a profile is written from whatever a server publishes, or the reason is printed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli import main
from tests.conformance.served import serve
from tests.reserved_port import reserved_port

PATH = "/pay/v1/receipt/verify"


def run_init(folder: Path, url: str) -> tuple[int, str, dict[str, Any]]:
    """Run the command, and return its exit code, what it said and the profile that it wrote."""
    file = folder / "w.toml"
    result = CliRunner().invoke(main, ["init", url, "-o", str(file)])
    return result.exit_code, result.output, tomllib.loads(file.read_text("utf-8")) if file.exists() else {}


def rail(body: Any, entry: dict[str, Any], kind: str = "word/payable-svc-receipt/1") -> Any:
    """Return what answers as a rail with one operation, whose example and price entry are given."""
    post = {"responses": {"402": {}}, "requestBody": {"content": {"application/json": {"example": body}}}}

    def answer(method: str, target: str, _: Any, __: bytes) -> tuple[int, Any]:
        if target == "/openapi.json":
            return 200, {"openapi": "3.1.0", "paths": {PATH: {"post": post}}}
        if target == "/pay/v1/index":
            return 200, {"receipts": {"payable_receipt": kind}}
        if method == "POST" and target == PATH:
            return 402, {"accepts": [entry, entry]}
        return 404, {}

    return answer


def test_a_rail_becomes_a_profile(tmp_path: Path) -> None:
    """What it publishes is bound: operations with their bodies, price, scheme and life of a challenge."""
    entry = {"network": "eip155:8453", "scheme": "welded", "maxTimeoutSeconds": 600, "maxAmountRequired": "1000"}
    with serve(rail({"jws": "a.b.c"}, entry)) as rail_server:
        code, output, profile = run_init(tmp_path, rail_server.url)
    assert code == 0, output
    assert profile["rail"] == {
        "services": {"receipt-verify": PATH},
        "bodies": {"receipt-verify": {"jws": "a.b.c"}},
        "scheme": "welded",
        "challenge_ttl": 600,
        "price_receipt_verify": "1000",
    }
    assert profile["claims"]["lanes"] == ["base"]
    text = next(tmp_path.glob("*.toml")).read_text()
    assert '# restart = ["systemctl", "--user", "restart", "my-rail"]' in text.partition("[surfaces.rail]")[2]


def test_what_no_profile_can_hold_is_left_open(tmp_path: Path) -> None:
    """Null and lone surrogates, which TOML and UTF-8 lack, and values of another type are not bound."""
    entry = {"network": "base", "scheme": "\ud800", "maxTimeoutSeconds": [600], "maxAmountRequired": {"a": []}}
    with serve(rail({"jws": None}, entry)) as rail_server:
        code, output, profile = run_init(tmp_path, rail_server.url)
    assert code == 0, output
    assert profile["rail"] == {"services": {"receipt-verify": PATH}, "bodies": {}}


def test_an_address_that_nobody_answers_at_is_told(tmp_path: Path) -> None:
    """Nothing is written, and the line says what came of the call."""
    with reserved_port() as port:
        code, output, profile = run_init(tmp_path, f"http://127.0.0.1:{port}")
    assert (code, profile) == (3, {})
    assert f"http://127.0.0.1:{port}: cannot connect to 127.0.0.1:{port}: Connection refused" in output


def test_a_profile_that_is_there_is_replaced_only_when_asked(tmp_path: Path) -> None:
    """An operator may have written it by hand: without --force it stays, byte for byte, and exit code 2 says so."""
    file = tmp_path / "w.toml"
    file.write_text("# mine\n", "utf-8")
    entry = {"network": "eip155:8453", "scheme": "welded", "maxTimeoutSeconds": 600, "maxAmountRequired": "1000"}
    with serve(rail({"jws": "a.b.c"}, entry)) as rail_server:
        words = ["init", rail_server.url, "-o", str(file)]
        kept_run = CliRunner().invoke(main, words)
        assert (kept_run.exit_code, file.read_text("utf-8")) == (2, "# mine\n")
        assert f"{file} exists already; --force replaces it" in kept_run.output
        forced_run = CliRunner().invoke(main, [*words, "--force"])
    assert (forced_run.exit_code, tomllib.loads(file.read_text("utf-8"))["rail"]["scheme"]) == (0, "welded")


def test_an_account_that_pays_goes_with_a_limit(tmp_path: Path) -> None:
    """A profile that no command would take is not written; the limit is in each table that names an account."""
    file = tmp_path / "w.toml"
    entry = {"network": "base", "scheme": "x", "maxTimeoutSeconds": 600, "maxAmountRequired": "1"}
    with serve(rail({"jws": "a.b.c"}, entry)) as rail_server:
        words = [
            "init",
            rail_server.url,
            "-o",
            str(file),
            "--base-rpc",
            "http://127.0.0.1:1",
            "--base-funder-env",
            "KEY",
        ]
        for limit in ([], ["--spending-limit", "5.00"]):
            refused_run = CliRunner().invoke(main, [*words, *limit])
            assert (refused_run.exit_code, "--spending-limit" in refused_run.output, file.exists()) == (2, True, False)
        result = CliRunner().invoke(main, [*words, "--spending-limit", "5000000"])
    assert result.exit_code == 0, result.output
    base = tomllib.loads(file.read_text("utf-8"))["chains"]["base"]
    assert (base["funder"], base["spending_limit"]) == ({"env": "KEY"}, "5000000")


def test_the_next_command_takes_the_file_that_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With another file than ./weldproof.toml `run` alone would look elsewhere, and bring up our own stack."""
    monkeypatch.chdir(tmp_path)
    with serve(rail({"jws": "a.b.c"}, {"network": "eip155:8453"})) as rail_server:
        for words, profile_text in (
            ((), "Next: weldproof run\n"),
            (("-o", "our rail.toml"), "Next: weldproof run --config 'our rail.toml'\n"),
        ):
            result = CliRunner().invoke(main, ["init", rail_server.url, *words])
            assert result.exit_code == 0, result.output
            assert result.output.endswith(profile_text)


@pytest.mark.parametrize("level", ["document", "item", "operation"])
def test_paths_below_servers_are_found_with_their_bodies(tmp_path: Path, level: str) -> None:
    """OpenAPI lets a document, a path item and an operation say below which server a path stands."""
    plain = rail({"jws": "a.b.c"}, {"network": "eip155:8453", "maxAmountRequired": "1000"})
    there_is = {"servers": [{"url": "/pay/v1"}]}

    def answer(method: str, target: str, headers: Any, body: bytes) -> tuple[int, Any]:
        status, document = plain(method, target, headers, body)
        if target == "/openapi.json":
            post = document["paths"][PATH]["post"] | (there_is if level == "operation" else {})
            item = {"post": post} | (there_is if level == "item" else {})
            document = {"openapi": "3.1.0", "paths": {PATH.removeprefix("/pay/v1"): item}}
            document |= there_is if level == "document" else {}
        return status, document

    with serve(answer) as server:
        code, output, profile = run_init(tmp_path, server.url)
    assert code == 0, output
    assert profile["rail"]["services"] == {"receipt-verify": PATH}
    assert profile["rail"]["bodies"] == {"receipt-verify": {"jws": "a.b.c"}}


def test_a_body_that_nobody_vouches_for_is_not_bound(tmp_path: Path) -> None:
    """What is made from a schema alone is no body that the operation takes: the line says what to give."""
    schema = {"type": "object", "required": ["jws"], "properties": {"jws": {"type": "string"}}}
    plain = rail(None, {"network": "eip155:8453", "maxAmountRequired": "1000"})

    def answer(method: str, target: str, headers: Any, body: bytes) -> tuple[int, Any]:
        status, document = plain(method, target, headers, body)
        if target == "/openapi.json":
            document["paths"][PATH]["post"]["requestBody"]["content"]["application/json"] = {"schema": schema}
        return status, document

    with serve(answer) as server:
        code, output, profile = run_init(tmp_path, server.url)
    assert code == 0, output
    assert profile["rail"]["bodies"] == {}
    assert f"no body that {PATH} accepts is known yet: add [rail.bodies] receipt-verify = {{ member = " in output


def test_a_limit_is_measured_and_written(tmp_path: Path) -> None:
    """An agent that lets forty verifications through gets a pace of its own for them, which a profile reads back."""
    call_count = 0

    def answer(method: str, target: str, _: Any, __: bytes) -> tuple[int, Any]:
        nonlocal call_count
        if (method, target) == ("POST", "/verify/rfc9421"):
            call_count += 1
            return (422, {"detail": []}) if call_count <= 40 else (429, {"detail": "too many"})
        return 404, {}

    with serve(answer) as server:
        code, output, profile = run_init(tmp_path, server.url)
    assert code == 0, output
    assert set(profile["pace"]["limits"]) == {"POST /verify/rfc9421"}
    assert 20 <= profile["pace"]["limits"]["POST /verify/rfc9421"] <= 40
    assert "POST /verify/rfc9421" in output
    assert re.search(r"a whole run calls it about 600 times, \d\d minutes at that pace", output)
    assert 40 < call_count < 60
    assert profile["pace"]["requests_per_second"] == 10


def test_a_target_here_that_limits_nothing_is_asked_without_a_bound(tmp_path: Path) -> None:
    """Ten requests a second are for what may be limited, or belongs to a different operator."""

    def answer(method: str, target: str, _: Any, __: bytes) -> tuple[int, Any]:
        return (422, {"detail": []}) if (method, target) == ("POST", "/verify/rfc9421") else (404, {})

    with serve(answer) as server:
        code, output, profile = run_init(tmp_path, server.url)
    assert code == 0, output
    assert profile["pace"] == {"requests_per_second": 0.0, "workers": 8}
    assert "verify_body" in output
    file_text = (tmp_path / "w.toml").read_text("utf-8")
    assert (
        "# To be said first: unbound: no body is known that verify understands; give [agent] verify_body" in file_text
    )


def test_what_was_not_seen_is_told_and_the_clock_is_written(tmp_path: Path) -> None:
    """Options that nothing shows are not claimed, and a file of seconds is bound for rows about lifetimes."""
    clock, file = tmp_path / "offset", tmp_path / "w.toml"
    with serve(rail({"jws": "a.b.c"}, {"network": "eip155:8453"})) as rail_server:
        result = CliRunner().invoke(main, ["init", rail_server.url, "-o", str(file), "--clock", str(clock)])
    assert "no agent card was found, so the options rail.agent_card and rail.a2a are not claimed" in result.output
    profile = tomllib.loads(file.read_text("utf-8"))
    assert profile["clock"] == {"offset_file": str(clock)}
    assert profile["claims"]["options"] == []
