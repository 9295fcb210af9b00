"""`weldproof tenant`: what it asks of a gateway, what it shows, and what it says when something is wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance.cli.tenant import command

KEY = "weldc_" + "k" * 43
TENANT_ANSWER = {"tenant_id": "t-1", "name": "Shop", "kyc_status": "trial", "api_key": "weld_abc", "key_id": "k-1"}


class ScriptedGateway:
    """Answers every call with what a test says, and remembers what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.answer: Any = TENANT_ANSWER
        self.asked: list[tuple[str, str, Any]] = []
        self.headers: Mapping[str, str] = {}
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                gateway.asked.append((self.command, self.path, json.loads(data) if data else None))
                gateway.headers = dict(self.headers)
                raw = gateway.answer
                body = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
                self.send_response(gateway.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - the server looks for these names

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def scripted_gateway() -> Iterator[ScriptedGateway]:
    """A gateway."""
    new_gateway = ScriptedGateway()
    yield new_gateway
    new_gateway.close()


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No profile in the working folder, and no administrator's key but the one that a test gives."""
    monkeypatch.chdir(tmp_path)
    for name in ("WELDPROOF_ADMIN_KEY", "WELDPROOF_ADMIN_KEY_FILE", "WELDPROOF_GATEWAY"):
        monkeypatch.delenv(name, raising=False)


def run_command(gateway: ScriptedGateway | None, *words: str, key: str = KEY) -> Result:
    """Run the command with a key in the environment."""
    environment = {"WELDPROOF_ADMIN_KEY": key, **({} if gateway is None else {"WELDPROOF_GATEWAY": gateway.url})}
    return CliRunner().invoke(command, words, env=environment)


@pytest.mark.parametrize(
    ("words", "method", "path", "body"),
    [
        (("create", "Shop"), "POST", "", {"name": "Shop"}),
        (("show", "t-1"), "GET", "/t-1", None),
        (
            ("networks", "t-1", "solana_devnet=S", "base_sepolia=0x1"),
            "PUT",
            "/t-1/networks",
            {"solana_devnet": {"payout_address": "S"}, "base_sepolia": {"payout_address": "0x1"}},
        ),
        (("kyc", "t-1", "approved"), "POST", "/t-1/kyc", {"status": "approved"}),
        (("kyc", "t-1", "approved", "--plan", "paid"), "POST", "/t-1/kyc", {"status": "approved", "plan": "paid"}),
        (("payments", "t-1"), "GET", "/t-1/payments?state=paid", None),
        (("payments", "t-1", "--state", "late"), "GET", "/t-1/payments?state=late", None),
        (("keys", "create", "t-1", "live"), "POST", "/t-1/api-keys", {"mode": "live"}),
        (("keys", "rotate", "t-1", "k-1"), "POST", "/t-1/api-keys/k-1/rotate", None),
        (("keys", "delete", "t-1", "k-1"), "DELETE", "/t-1/api-keys/k-1", None),
        (("webhooks", "add", "t-1", "https://a.test/h"), "POST", "/t-1/webhooks", {"url": "https://a.test/h"}),
        (
            ("webhooks", "add", "t-1", "https://a.test/", "--event", "payment.cancelled"),
            "POST",
            "/t-1/webhooks",
            {"url": "https://a.test/", "events": ["payment.cancelled"]},
        ),
        (("webhooks", "rotate", "t-1", "d-1"), "POST", "/t-1/webhooks/d-1/rotate", None),
        (("webhooks", "delete", "t-1", "d-1"), "DELETE", "/t-1/webhooks/d-1", None),
        (("webhooks", "deliveries", "t-1"), "GET", "/t-1/deliveries", None),
        (("webhooks", "retry", "t-1", "dlv_1"), "POST", "/t-1/deliveries/dlv_1/retry", None),
        (("show", "a/../b?c"), "GET", "/a%2F..%2Fb%3Fc", None),
    ],
)
def test_each_command_is_one_call_of_the_internal_api(
    scripted_gateway: ScriptedGateway, words: tuple[str, ...], method: str, path: str, body: Any
) -> None:
    """With the key in the Authorization header and nowhere else."""
    ended_run = run_command(scripted_gateway, *words)
    assert ended_run.exit_code == 0, ended_run.output
    assert scripted_gateway.asked == [(method, f"/internal/tenants{path}", body)]
    if body is not None:
        assert list(scripted_gateway.asked[0][2]) == list(body)
    assert scripted_gateway.headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in ended_run.output


def test_the_answer_is_shown_for_people_or_as_json(scripted_gateway: ScriptedGateway) -> None:
    """A key is shown with the word that this is the only time; `--json` prints the answer alone."""
    shown_run = run_command(scripted_gateway, "create", "Shop")
    assert "api_key: weld_abc" in shown_run.stdout
    assert "shown only once" in shown_run.stderr
    assert json.loads(run_command(scripted_gateway, "create", "Shop", "--json").stdout) == TENANT_ANSWER
    scripted_gateway.answer = {
        "networks": {"base_sepolia": {"payout_address": "0x1"}},
        "keys": [{"mode": "test"}],
        "plan": None,
    }
    lines = run_command(scripted_gateway, "show", "t-1").stdout.splitlines()
    assert lines == ["networks:", "  base_sepolia payout_address 0x1", "keys:", "  mode test", "plan: -"]
    scripted_gateway.answer = {"destination_id": "d-1", "secret": "weldw_abc"}
    rotated_run = run_command(scripted_gateway, "webhooks", "rotate", "t-1", "d-1")
    assert ("secret: weldw_abc" in rotated_run.stdout, "secret is shown only once" in rotated_run.stderr) == (
        True,
        True,
    )
    attempts = [{"number": 1, "outcome": "status", "status": 500}, {"number": 2, "outcome": "timeout", "status": None}]
    scripted_gateway.answer = {"deliveries": [{"delivery_id": "dlv_1", "events": ["a", "b"], "attempts": attempts}]}
    lines = run_command(scripted_gateway, "webhooks", "deliveries", "t-1").stdout.splitlines()
    assert lines == [
        "deliveries:",
        "  delivery_id dlv_1, events a b",
        "    number 1, outcome status, status 500",
        "    number 2, outcome timeout",
    ]
    scripted_gateway.status, scripted_gateway.answer = 204, b""
    assert run_command(scripted_gateway, "keys", "delete", "t-1", "k-1").stdout == "done\n"


def test_a_refusal_says_why_and_what_to_do(scripted_gateway: ScriptedGateway) -> None:
    """Exit status 1; the envelope's message, the place of a schema fault, or better advice where we know it."""
    detail = [{"loc": ["body", "base_sepolia"], "msg": "not an address", "type": "x"}]
    for status, answer, sentence in (
        (422, {"error": "validation_error", "message": "wrong", "detail": detail}, "body.base_sepolia: not an address"),
        (
            422,
            {"error": "kyb_required_for_mainnet", "message": "complete the verification"},
            "complete the verification",
        ),
        (401, {"error": "invalid_api_key", "message": "x"}, "admin_key of the gateway's data directory"),
        (404, {"error": "not_found", "message": "x"}, "no such tenant, key, destination or delivery"),
        (302, {}, "302"),
        (500, [], "500"),
    ):
        scripted_gateway.status, scripted_gateway.answer = status, answer
        ended_run = run_command(scripted_gateway, "show", "t-1")
        assert (ended_run.exit_code, sentence in ended_run.stderr) == (1, True), ended_run.stderr
        assert KEY not in ended_run.output


def test_a_gateway_that_does_not_answer_as_one_is_unreachable(scripted_gateway: ScriptedGateway) -> None:
    """Exit status 3: nothing listens there, or something else does."""
    scripted_gateway.answer = b"<html>"
    assert run_command(scripted_gateway, "show", "t-1").exit_code == 3
    ended_run = run_command(None, "show", "t-1", "--url", "http://127.0.0.1:9")
    assert (ended_run.exit_code, "weldproof up" in ended_run.stderr) == (3, True)


def test_the_key_comes_from_a_file_or_the_environment(scripted_gateway: ScriptedGateway, tmp_path: Path) -> None:
    """The file wins; without either, or with an unusable one, it is a fault of usage with what to do."""
    file = tmp_path / "admin_key"
    file.write_text("weldc_file\n")
    assert run_command(scripted_gateway, "show", "t-1", "--admin-key-file", str(file)).exit_code == 0
    assert scripted_gateway.headers["Authorization"] == "Bearer weldc_file"
    for key, words in (("", ()), ("two\nlines", ()), (KEY, ("--admin-key-file", str(tmp_path / "none")))):
        ended_run = run_command(scripted_gateway, "show", "t-1", *words, key=key)
        assert (ended_run.exit_code, "admin" in ended_run.output) == (2, True)
        assert len(scripted_gateway.asked) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("networks", "t-1", "base_sepolia"),
        ("networks", "t-1", "=x"),
        ("networks", "t-1", "a=1", "a=2"),
        ("networks", "t-1"),
        ("show", "t-1", "--url", "localhost"),
        ("kyc", "t-1", "maybe"),
    ],
)
def test_what_cannot_be_asked_is_a_fault_of_usage(scripted_gateway: ScriptedGateway, words: tuple[str, ...]) -> None:
    """Nothing is sent."""
    assert (run_command(scripted_gateway, *words).exit_code, scripted_gateway.asked) == (2, [])


def test_the_address_comes_from_the_profile_in_the_working_folder(
    scripted_gateway: ScriptedGateway, tmp_path: Path
) -> None:
    """As `weldproof up` writes it; what is said on the command line wins."""
    (tmp_path / "weldproof.toml").write_text(f'[surfaces.gateway]\nurl = "{scripted_gateway.url}/"\n')
    assert run_command(None, "show", "t-1").exit_code == 0
    assert run_command(None, "show", "t-1", "--url", "http://127.0.0.1:9").exit_code == 3


def test_what_a_gateway_says_is_shown_as_text(scripted_gateway: ScriptedGateway) -> None:
    """Names, codes and values of a hostile gateway never reach the terminal as commands."""
    hostile = "\x1b[2J\x1b]0;x\x07\u202e"
    scripted_gateway.answer = {hostile: hostile, "keys": [{hostile: hostile}], "hosts": {hostile: hostile}}
    shown_run = run_command(scripted_gateway, "show", "t-1")
    scripted_gateway.status, scripted_gateway.answer = 409, {"error": hostile, "message": hostile}
    refused_run = run_command(scripted_gateway, "show", "t-1")
    for result in (shown_run, refused_run):
        assert "\\x1b[2J" in result.output
        assert not {"\x1b", "\x07", "\u202e"} & set(result.output), result.output
