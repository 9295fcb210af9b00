"""`init` and `run` pointed at what is no target: they end, say why, and nothing of it looks like a verdict.

Each server is wrong in one way; the last tests are the control, the same commands at servers that are right.
"""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests import prepared
from tests.conformance.first_look.test_x402_rules import encode_document, terms
from tests.conformance.node_servers import node_servers
from tests.conformance.wrong_targets import (
    Serve,
    answer_all,
    certificates,
    drips,
    hangs,
    never_ends,
    resets,
    routing,
    send_bytes,
    serve_connections,
)
from tests.reserved_port import reserved_port

# Rows of documents that are free, of a call that is not, and of a payment.
ROWS = ("RAIL-KEY-01", "RAIL-402-01", "RAIL-PAY-05")
PATH = "/pay/v1/receipt/verify"
POST = {"responses": {"402": {}}, "requestBody": {"content": {"application/json": {"example": {"jws": "a.b.c"}}}}}
KEY = {"kty": "OKP", "crv": "Ed25519", "x": "A6EHv_POEL4dcN0Y50vAmWfk1jZL9Q1fHdyGRBJVMbg", "kid": "a", "alg": "EdDSA"}
RIGHT = routing(
    {
        ("GET", "/openapi.json"): (200, {"openapi": "3.1.0", "paths": {PATH: {"post": POST}}}),
        ("GET", "/.well-known/jwks.json"): (200, {"keys": [KEY]}),
        ("POST", PATH): (402, {"accepts": [{"network": "eip155:8453"}]}),
    }
)
HTML = answer_all("200 OK", b"<!doctype html><title>Shop</title>", kind="text/html; charset=utf-8")
OTHER_ANSWER = answer_all("404 Not Found", b'{"message":"no Route matched with those values"}')
HUGE = answer_all("200 OK", b"{}", "X-Huge: " + "z" * 100_000)
MANY = answer_all("200 OK", b"{}", *(f"X-{number}: " + "y" * 4000 for number in range(500)))

# Servers that give no HTTP answer: what serves, whether over TLS, the scheme that is asked for, and what is said.
SILENT: dict[str, tuple[Serve, bool, str, str]] = {
    "hanging": (hangs, False, "http", "no answer within 0.5 s"),
    "dripping": (drips, False, "http", "no whole answer within 0.5 s"),
    "endless": (never_ends, False, "http", "its answer is longer than"),
    "resetting": (resets, False, "http", "the connection was reset before an answer came"),
    "closing": (send_bytes(b""), False, "http", "the connection was closed without an answer"),
    "another protocol": (send_bytes(b"SSH-2.0-OpenSSH_9.6\r\n", reading=False), False, "http", "no HTTP answer"),
    "a huge field": (HUGE, False, "http", "a line of more than 8190 bytes in its head"),
    "many fields": (MANY, False, "http", "Too many headers received"),
    "an unknown authority": (RIGHT, True, "https", "give --cacert FILE"),
    "TLS at a plain port": (RIGHT, False, "https", "does not speak TLS: is its address http://"),
    "plain at a TLS port": (RIGHT, True, "http", "its address begins with https://"),
}
# Servers that answer everything alike, as no surface does, and what is said of that.
ALIKE: dict[str, tuple[Serve, str]] = {
    "a page": (HTML, "200 with an HTML page"),
    "a redirect": (answer_all("302 Found", b"", "Location: https://example.com/"), "302 to https://example.com/"),
    "a fault": (answer_all("500 Internal Server Error", b'{"error":"x"}'), "500 with application/json"),
    "another service's 200": (answer_all("200 OK", b'{"hello":"world"}'), "200 with application/json"),
    "another service's 401": (
        answer_all("401 Unauthorized", b'{"error":"no token"}'),
        "not a surface that the suite knows",
    ),
    "another service's 404": (OTHER_ANSWER, "not a surface that the suite knows"),
}

# Servers of stock Node.js: the scheme that is asked for, and what is said.
OF_NODE = {
    "tls": ("https", "unable to get local issuer certificate; give --cacert FILE"),
    "plain at Node's TLS port": ("http", "the connection was closed without an answer; if it speaks TLS"),
    "right": ("https", "does not speak TLS: is its address http://"),
    "redirecting": ("http", "its / answered 302 to /login"),
    "unrouted": ("http", "its / answered 404 with an HTML page"),
    "resetting": ("http", "the connection was reset before an answer came"),
    "hanging_up": ("http", "the connection was closed without an answer"),
    "breaking": ("http", "its answer was cut off"),
    "endless": ("http", "its answer is longer than"),
    "http2": ("http", "what came is HTTP/2, and the suite speaks HTTP/1.1"),
}


def weldproof(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return prepared.run("conformance", *words, env=os.environ, cwd=folder, timeout=600)


def run_init(folder: Path, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `init`."""
    return weldproof(folder, "init", url, *words)


def run_suite(folder: Path, url: str, *words: str) -> tuple[int, dict[str, str], str]:
    """Run `run` and return its exit code, the verdict of each row, and its sentence."""
    (folder / "target.toml").write_text(
        f'[surfaces.rail]\nurl = "{url}"\n[claims]\nsurfaces = ["rail"]\nlanes = ["base"]\n'
        "[pace]\nrequests_per_second = 0\n"
    )
    result = weldproof(folder, "run", *ROWS, "--config", "target.toml", "--json", *words)
    results = json.loads(result.stdout)["results"]
    verdicts = {test["extra"]["requirement"]["id"]: test["rawStatus"] for test in results["tests"]}
    extra: dict[str, Any] = results["summary"]["extra"]
    return result.returncode, verdicts, f"{extra['headline']}: {extra['sentence']}"


def assert_undecided(result: tuple[int, dict[str, str], str], message: str) -> None:
    """Hold a run to having decided nothing, and to saying why."""
    code, verdicts, sentence = result
    assert (code, set(verdicts), set(verdicts.values())) == (3, set(ROWS), {"inconclusive"}), result
    assert sentence.startswith("No verdict: No requirement was judged"), sentence
    assert message in sentence


def unwritten(result: subprocess.CompletedProcess[str], folder: Path, message: str) -> None:
    """Hold `init` to having written nothing, and to saying why."""
    assert (result.returncode, (folder / "weldproof.toml").exists()) == (3, False), result.stderr
    assert message in result.stderr
    assert "no known surface answered; nothing written" in result.stderr


@pytest.mark.parametrize("name", SILENT)
def test_a_server_without_an_answer_is_told_by_its_reason(name: str, tmp_path: Path) -> None:
    """Both commands end by themselves, with 3 and what can be done about it."""
    serve, over_tls, scheme, message = SILENT[name]
    tls = certificates(tmp_path).server if over_tls else None
    with serve_connections(serve, tls) as place:
        # Only those that never answer are not waited for: the others answer at once, on a busy machine a little later.
        timeout = ("--timeout", "0.5" if "answer within" in message else "60")
        unwritten(run_init(tmp_path, f"{scheme}://{place}", *timeout), tmp_path, message)
        assert_undecided(run_suite(tmp_path, f"{scheme}://{place}", *timeout), message)


@pytest.mark.parametrize("name", ["dead", "no such host"])
def test_an_address_where_nobody_is_is_told(name: str, tmp_path: Path) -> None:
    """The user learns whether it is the port or the name."""
    with reserved_port() as port:
        place = f"127.0.0.1:{port}" if name == "dead" else "no-such-host.invalid"
        message = "Connection refused" if name == "dead" else "there is no host no-such-host.invalid"
        unwritten(run_init(tmp_path, f"http://{place}"), tmp_path, message)
        assert_undecided(run_suite(tmp_path, f"http://{place}"), message)


@pytest.mark.parametrize("name", ALIKE)
def test_a_server_that_answers_everything_alike_is_no_surface(name: str, tmp_path: Path) -> None:
    """`init` says what it answered to a path that does not exist; a run passes nothing of it."""
    serve, message = ALIKE[name]
    with serve_connections(serve) as place:
        unwritten(run_init(tmp_path, f"http://{place}"), tmp_path, message)
        code, verdicts, sentence = run_suite(tmp_path, f"http://{place}")
    assert code in {1, 3}, sentence
    assert "pass" not in verdicts.values(), verdicts
    assert not sentence.startswith("Passed")


def test_servers_of_node_are_told_by_their_reasons(tmp_path: Path) -> None:
    """`init` says of each what came of it; a run passes nothing of what was reset or redirects."""
    with node_servers(tmp_path) as places:
        at = {**places, "plain at Node's TLS port": places["tls"]}
        urls = {name: f"{scheme}://{at[name]}" for name, (scheme, _) in OF_NODE.items()}
        result = weldproof(tmp_path, "init", *urls.values(), "--timeout", "60")
        assert_undecided(run_suite(tmp_path, urls["resetting"], "--timeout", "60"), OF_NODE["resetting"][1])
        code, verdicts, sentence = run_suite(tmp_path, urls["redirecting"], "--timeout", "60")
    lines = {line.strip().partition(": ")[0]: line for line in result.stderr.splitlines()}
    for name, (_, message) in OF_NODE.items():
        assert message in lines[urls[name]], name
    unwritten(result, tmp_path, "not a surface that the suite knows")
    assert (code, "pass" in verdicts.values()) in {(1, False), (3, False)}, sentence


def test_a_stock_x402_server_is_sent_to_check(tmp_path: Path) -> None:
    """A server that sells without a weld is judged by `check` alone, and `init` says so."""
    header = f"PAYMENT-REQUIRED: {encode_document(terms())}"
    with serve_connections(answer_all("402 Payment Required", b"{}", header)) as place:
        url = f"http://{place}/weather"
        result = run_init(tmp_path, url)
    advice = f"use `weldproof check {url}`; `run` has nothing to judge"
    unwritten(result, tmp_path, f"{url}: an x402 server without a weld: {advice}")
    assert "not a surface that the suite knows" not in result.stderr


def test_a_server_of_node_that_is_right_becomes_a_profile(tmp_path: Path) -> None:
    """The control: one of the same servers, with its certificate's authority. Rows pass on one in test_kept_by_node."""
    with node_servers(tmp_path) as places:
        result = run_init(tmp_path, f"https://{places['tls']}", "--cacert", "authority.pem")
    assert (result.returncode, "1 paid operations" in result.stdout) == (0, True), result.stderr


@pytest.mark.parametrize("days", [1, -1])
@pytest.mark.parametrize("words", [("--cacert", "authority.pem"), ("--insecure",)])
def test_a_certificate_is_accepted_by_its_authority_or_loudly(
    words: tuple[str, ...], days: int, tmp_path: Path
) -> None:
    """The control of the TLS ones: the same server is judged. A lapsed certificate is accepted by --insecure alone."""
    loud = "certificates were not checked"
    with serve_connections(RIGHT, certificates(tmp_path, days=days).server) as place:
        result = run_init(tmp_path, f"https://{place}", *words)
        if days < 0 and words[0] == "--cacert":
            unwritten(result, tmp_path, "certificate has expired")
            return
        assert result.returncode == 0, result.stderr
        assert (loud in result.stderr) is (words[0] == "--insecure")
        file_text = tomllib.loads((tmp_path / "weldproof.toml").read_text())["tls"]
        code, verdicts, sentence = run_suite(tmp_path, f"https://{place}", *words)
    assert file_text == (
        {"insecure": True} if words[0] == "--insecure" else {"cacert": str(tmp_path / "authority.pem")}
    )
    assert (code, "fail" in verdicts.values() or "pass" in verdicts.values()) != (0, False), sentence
    assert (loud in sentence) is (words[0] == "--insecure")
    assert set(verdicts.values()) != {"inconclusive"}


def test_a_server_that_is_right_becomes_a_profile_and_is_judged(tmp_path: Path) -> None:
    """The control of all the others: with the same harness, options and rows."""
    with serve_connections(RIGHT) as place:
        result = run_init(tmp_path, f"http://{place}", "--timeout", "30")
        assert (result.returncode, "1 paid operations" in result.stdout) == (0, True), result.stderr
        assert tomllib.loads((tmp_path / "weldproof.toml").read_text())["budgets"]["request"] == 30
        code, verdicts, sentence = run_suite(tmp_path, f"http://{place}", "--timeout", "30")
    assert set(verdicts.values()) & {"pass", "fail"}, sentence
    assert code in {1, 3}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cacert", "none.pem"), "cannot read none.pem"),
        (("--cacert", "empty.pem"), "no certificate in PEM form"),
        (("--cacert", "empty.pem", "--insecure"), "give one"),
        (("--timeout", "0"), "a number of seconds above 0"),
        (("--timeout", "nan"), "a number of seconds above 0"),
    ],
)
@pytest.mark.parametrize("command", ["init", "run", "pay", "replay"])
def test_what_cannot_be_used_is_a_fault_of_usage(
    command: str, words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    """Exit code 2 and what is wrong, before any server is called."""
    (tmp_path / "empty.pem").write_text("nothing\n")
    (tmp_path / "target.toml").write_text('[surfaces.rail]\nurl = "http://127.0.0.1:9"\n')
    started_members = {"event": "run.started", "options": {}, "rows": ["RAIL-PAY-05"], "seed": 1}
    lines = [started_members, {"event": "exchange", "n": 1, "check": "x", "request": {}}]
    (tmp_path / "events.ndjson").write_text("".join(json.dumps(one) + "\n" for one in lines))
    config = ("--config", "target.toml")
    line = {
        "init": ("init", "http://127.0.0.1:9"),
        "run": ("run", "RAIL-KEY-01", *config),
        "pay": ("pay", "http://127.0.0.1:9/pay/v1/a", *config),
        "replay": ("replay", "events.ndjson#1", *config),
    }[command]
    result = weldproof(tmp_path, *line, *words)
    assert (result.returncode, message in result.stderr) == (2, True), result.stderr


def test_a_stack_of_our_own_is_no_target_to_trust(tmp_path: Path) -> None:
    """Options about a target need one."""
    result = weldproof(tmp_path, "run", "RAIL-KEY-01", "--reference", "--insecure")
    assert (result.returncode, "need a target" in result.stderr) == (2, True), result.stderr
