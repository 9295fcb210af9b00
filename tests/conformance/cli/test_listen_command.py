"""`weldproof listen` as a program: its ready line, what it prints, how it ends, and what it refuses to start with."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main

SECRET = "weldw_listen-command-secret"
USUAL = "X-Weldproof-Signature"
BODY = json.dumps(
    {
        "id": "evt_11111111-1111-4111-8111-111111111111",
        "type": "payment.confirmed",
        "created": 1767225600,
        "api_version": "1",
        "data": {
            "tenant_label": "Order \x1b[31m7 " + SECRET,
            "chain": "algorand:testnet",
            "amount_pretty": "8.41 USDC",
            "tx_id": "TX",
        },
    }
).encode()


@contextmanager
def start_listener(*words: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Start the program with these words and end it, whatever happens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "conformance", "listen", "--port", "0", *words],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def deliver(
    url: str, body: bytes = BODY, secret: str = SECRET, header: str = "X-Weldproof-Signature", further: str = ""
) -> int:
    """Deliver a body as an honest sender does and return the status."""
    t = int(time.time())
    v1 = hmac.new(secret.encode(), f"{t}.".encode() + body, hashlib.sha256).hexdigest()
    request = urllib.request.Request(url, body, {header: f"t={t},v1={v1}{further}"})
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def line(process: subprocess.Popen[str]) -> str:
    """Return the next line that the program prints."""
    assert process.stdout is not None
    return process.stdout.readline()


def test_scripts_read_json_lines(tmp_path: Path) -> None:
    """A ready line with the URL, one line an arrival, a summary on Ctrl-C, exit code 0, and no secret anywhere."""
    new, old = tmp_path / "new", tmp_path / "old"
    new.write_text(SECRET + "\n")
    old.write_text("weldw_the-old-one\n")
    words = ("--json", "--secret-file", str(new), "--secret-file", str(old), "--service-word", "Acme")
    with start_listener(*words) as process:
        lines = [line(process)]
        ready = json.loads(lines[0])
        assert (ready["event"], ready["header"]) == ("ready", "X-Acme-Signature")
        for secret, expected_status in ((SECRET, 200), ("weldw_the-old-one", 200), ("weldw_another", 400)):
            assert deliver(ready["url"], secret=secret, header=ready["header"]) == expected_status
        lines += [line(process) for _ in range(3)]
        reports = [json.loads(one) for one in lines[1:]]
        assert [one["event"] for one in reports] == ["delivered", "repeated", "refused"]
        assert [(one["id"] or "")[:4] for one in reports] == ["evt_", "evt_", ""]
        assert ([one["secret"] for one in reports], reports[2]["reason"]) == ([1, 2, None], "signature_wrong")
        assert reports[0]["body"]["data"]["amount_pretty"] == "8.41 USDC"
        with urllib.request.urlopen(ready["effects"].replace("{id}", reports[0]["id"]), timeout=600) as answer:
            assert answer.read() == b"1"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
        summary = json.loads(out)
        assert (summary["event"], summary["delivered"], summary["refused"]) == ("summary", 1, 1)
        assert (process.returncode, err) == (0, "")
        assert SECRET not in "".join(lines) + out


def test_readers_get_sentences() -> None:
    """A line names the event and what was paid, in a form that no terminal obeys; SIGTERM ends it as Ctrl-C does."""
    with start_listener(WELDPROOF_WEBHOOK_SECRET=SECRET) as process:
        ready = line(process)
        assert ready.startswith("Listening at http://127.0.0.1:")
        url = ready.split()[2]
        assert deliver(url) == 200
        sentence = line(process)
        for part in ("delivered", "200", "evt_11111111", "payment.confirmed", "8.41 USDC", "algorand:testnet", "tx TX"):
            assert part in sentence
        assert "\x1b" not in sentence
        assert SECRET not in sentence
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=600)
        assert out == "1 delivered, 0 repeated, 0 refused, 0 failed.\n"
        assert process.returncode == 0


@pytest.mark.parametrize("more", ["1e999", "[" * 900 + "]" * 900, '"\\ud800"'], ids=["infinite", "deep", "surrogate"])
def test_odd_json_is_told_as_json(more: str) -> None:
    """Numbers, depths and texts that JSON can hold and a writer may not give again do no harm to a line."""
    body = f'{{"id":"evt_odd","type":"\\ud800","data":{{"more":{more}}}}}'.encode()
    with start_listener("--json", WELDPROOF_WEBHOOK_SECRET=SECRET) as process:
        assert deliver(json.loads(line(process))["url"], body) == 200
        report = json.loads(line(process), parse_constant=pytest.fail)
        assert (report["event"], report["id"], bool(report["body"])) == ("delivered", "evt_odd", True)


def test_a_taken_port_is_a_fault_of_usage() -> None:
    """A second listener at the same port says so and ends with 2."""
    with start_listener("--json", WELDPROOF_WEBHOOK_SECRET=SECRET) as process:
        port = json.loads(line(process))["url"].rpartition(":")[2]
        result = CliRunner().invoke(main, ["listen", "--port", port], env={"WELDPROOF_WEBHOOK_SECRET": SECRET})
        assert result.exit_code == 2
        assert f"cannot listen at 127.0.0.1:{port}" in result.output


@pytest.mark.parametrize(
    ("words", "variables", "message"),
    [
        ([], {}, "no secret in WELDPROOF_WEBHOOK_SECRET: give --secret-file"),
        (["--secret-env", "OTHER"], {"WELDPROOF_WEBHOOK_SECRET": SECRET}, "no secret in OTHER"),
        (["--secret-file", "/nowhere/secret"], {}, "No such file"),
        (["--forward", "localhost:3000"], {"WELDPROOF_WEBHOOK_SECRET": SECRET}, "give an http or https URL"),
        (["--signed-string", "{t}"], {"WELDPROOF_WEBHOOK_SECRET": SECRET}, "does not cover the event"),
        (["--header", "X: Y"], {"WELDPROOF_WEBHOOK_SECRET": SECRET}, "not the name of a header field"),
        (["--host", "host.invalid"], {"WELDPROOF_WEBHOOK_SECRET": SECRET}, "no address of this machine"),
        (["--tolerance", "nan"], {"WELDPROOF_WEBHOOK_SECRET": SECRET}, "not a number of seconds"),
        (["--delay", "inf"], {"WELDPROOF_WEBHOOK_SECRET": SECRET}, "not a number of seconds"),
        (["--fail-first", "-1"], {"WELDPROOF_WEBHOOK_SECRET": SECRET}, "--fail-first"),
    ],
)
def test_what_it_cannot_start_with_is_said(words: list[str], variables: Mapping[str, str], message: str) -> None:
    """A missing secret or an option that cannot be used ends with 2 and one sentence, before anything is received."""
    environment = {"WELDPROOF_WEBHOOK_SECRET": None, "OTHER": None, **variables}
    result = CliRunner().invoke(main, ["listen", "--port", "0", *words], env=environment)
    assert result.exit_code == 2
    assert message in result.output
    assert SECRET not in result.output


def test_a_secret_is_never_an_argument() -> None:
    """There is no option for a secret's value, where everybody on the machine could read it."""
    result = CliRunner().invoke(main, ["listen", "--secret", SECRET])
    assert result.exit_code == 2
    assert "No such option" in result.output


def test_v2_is_checked_by_the_word_of_the_header() -> None:
    """The word of X-<word>-Signature is the word of its key; with another header it must be named to be checked."""
    for words, expected_status in (
        ((), 400),
        (("--service-word", "Acme"), 400),
        (("--header", "X-Weldproof-Signature"), 200),
    ):
        with start_listener("--json", *words, WELDPROOF_WEBHOOK_SECRET=SECRET) as process:
            ready = json.loads(line(process))
            assert deliver(ready["url"], header=ready["header"]) == 200
            assert deliver(ready["url"], header=ready["header"], further=",v2=" + "0" * 96) == expected_status
