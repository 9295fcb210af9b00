"""`weldproof pay` after the payment: the same proof again, the file that continues, and never a second payment.

The rail and the chain are real processes; a proxy in front of the rail answers in its place where a test says so.
"""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import prepared
from tests.conformance.cli.killing import CALL, PRICE, USDC, Instead, Payer, Seen, World, world

LANE = "algorand"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A simulated rail with one lane, behind proxies."""
    with world(tmp_path_factory.mktemp("stack"), "--surface", "rail", "--lane", LANE) as new_world:
        yield new_world
        new_world.watch = None


def paid_units(stack: World) -> int:
    return stack.balance_of(LANE, stack.ready["payto_algorand"], USDC[LANE]["rail"])


def call(stack: World, *words: str) -> list[str]:
    return [stack.places[stack.ready["rail"]] + CALL, *words]


class Answers:
    """What is answered to proofs, in order, and how many came; None is a closed connection, then the rail answers."""

    def __init__(self, *answers: Instead | None, last: Instead | None = None) -> None:
        self._answers = list(answers)
        self._last = last
        self.proofs = 0

    def __call__(self, request_seen: Seen) -> bool | Instead:
        """Return what is answered to a request."""
        if not request_seen.has_proof or request_seen.phase != "before":
            return False
        self.proofs += 1
        if not self._answers:
            return self._last or False
        return self._answers.pop(0) or True


def run_pay(stack: World, payer: Payer, watch: Answers, *words: str) -> subprocess.CompletedProcess[str]:
    stack.watch = watch
    try:
        return payer.run_command(*words)
    finally:
        stack.watch = None


def printed_json(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_what_is_no_answer_yet_is_asked_again_with_the_same_proof(stack: World, tmp_path: Path) -> None:
    """In progress, too early, too many, every fault of a server, a closed connection, and a 402 that says not yet."""
    answers = Answers(
        Instead(409, "payment_in_progress"),
        Instead(425, "too_early"),
        Instead(429, "rate_limited"),
        Instead(500, "internal_error"),
        Instead(502, "bad_gateway"),
        Instead(503, "chain_unavailable"),
        Instead(504, "gateway_timeout"),
        Instead(402, "tx_not_found"),
        Instead(402, "tx_not_confirmed", None),
        None,
    )
    payer, before = Payer(stack, tmp_path), paid_units(stack)
    result = run_pay(stack, payer, answers, *call(stack, "--json"))
    assert result.returncode == 0, result.stderr
    assert (answers.proofs, paid_units(stack) - before, len(payer.receipts())) == (11, PRICE, 1)
    [record] = payer.records()
    assert printed_json(result)["tx_id"] == record["signed"]["tx_id"]
    assert (printed_json(result)["state"], printed_json(result)["file"]) == ("served", str(payer.files()[0]))


def test_after_its_time_the_command_that_continues_is_printed(stack: World, tmp_path: Path) -> None:
    """The exit code is its own, `--json` has all that is needed, and the printed command is served and pays nothing."""
    payer, before = Payer(stack, tmp_path), paid_units(stack)
    words = call(stack, "--json", "--wait", "1", "--receipt", str(tmp_path / "receipt-it.jws"))
    result = run_pay(stack, payer, Answers(last=Instead(503, "store_unavailable")), *words)
    assert result.returncode == 5, result.stderr
    document, [record] = printed_json(result), payer.records()
    assert (document["state"], document["tx_id"]) == ("paid", record["signed"]["tx_id"])
    assert (document["payment_reference"], document["file"]) == (record["reference"], str(payer.files()[0]))
    assert document["last_answer"] == "503 store_unavailable"
    assert f"transaction {document['tx_id']}, token {document['payment_reference']}" in result.stderr
    [line] = [line for line in result.stderr.splitlines() if "continue with" in line]
    resume = shlex.split(line.split("continue with:")[1])
    assert (resume, resume[:4]) == (
        shlex.split(document["resume"]),
        ["weldproof", "pay", "--resume", str(payer.files()[0])],
    )
    again = prepared.run("conformance", *resume[1:], env=payer.env, cwd=tmp_path, timeout=600)
    assert again.returncode == 0, again.stderr
    assert (paid_units(stack) - before, len(payer.receipts())) == (PRICE, 1)


def test_a_second_run_goes_on_with_the_open_payment(stack: World, tmp_path: Path) -> None:
    """Also one that types the published example as its body; another body or `--again` is another payment."""
    payer, before = Payer(stack, tmp_path), paid_units(stack)
    down = Answers(last=Instead(503, "chain_unavailable", "3600"))
    assert run_pay(stack, payer, down, *call(stack)).returncode == 5
    assert down.proofs == 1, "the answer asks for an hour"
    body = json.dumps(payer.records()[0]["body"])
    assert run_pay(stack, payer, down, *call(stack, "--body", body)).returncode == 5
    assert (down.proofs, len(payer.files()), paid_units(stack) - before) == (2, 1, PRICE)
    other_body = json.dumps({**payer.records()[0]["body"], "recipient_address": "screen-block"})
    assert payer.run_command(*call(stack, "--body", other_body)).returncode == 0
    assert payer.run_command(*call(stack, "--again")).returncode == 0
    assert paid_units(stack) - before == 3 * PRICE
    result = payer.run_command(*call(stack))
    assert result.returncode == 0, result.stderr
    assert (paid_units(stack) - before, {one["state"] for one in payer.records()}) == (3 * PRICE, {"served"})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Instead(409, "payment_already_spent", None), "the payment belongs to another request"),
        (Instead(409, "payment_refunded", None), "the operator reports a refund"),
        (Instead(402, "unknown_challenge", None), "send the operator the transaction id and the token"),
        (Instead(404, "not_found", None), "send the operator the transaction id and the token"),
    ],
)
def test_a_refusal_stops_and_pays_nothing_again(stack: World, tmp_path: Path, answer: Instead, message: str) -> None:
    """Neither this run nor the next one pays a second time; both say what to do."""
    payer, before, refusing_answers = Payer(stack, tmp_path), paid_units(stack), Answers(last=answer)
    for proofs in (1, 2):
        result = run_pay(stack, payer, refusing_answers, *call(stack, "--json"))
        assert (result.returncode, message in result.stderr) == (6, True), result.stderr
        assert (refusing_answers.proofs, paid_units(stack) - before) == (proofs, PRICE)
        assert printed_json(result)["state"] == "paid"
    assert "--resume" in printed_json(result)["resume"]


@pytest.mark.parametrize("content", [b"<html>Log in to this network</html>", b"{}", b"[" * 100_000])
def test_a_200_without_a_receipt_does_not_end_the_payment(stack: World, tmp_path: Path, content: bytes) -> None:
    """A portal or a proxy answered: the payment stays open, and the next run presents it and does not pay again."""
    payer, before = Payer(stack, tmp_path), paid_units(stack)
    result = run_pay(stack, payer, Answers(last=Instead(200, "", None, content)), *call(stack, "--json"))
    assert (result.returncode, printed_json(result)["state"]) == (6, "paid"), result.stderr
    assert "--resume" in printed_json(result)["resume"]
    assert payer.run_command(*call(stack)).returncode == 0
    assert (paid_units(stack) - before, len(payer.receipts())) == (PRICE, 1)


def test_a_200_does_not_show_that_the_transaction_was_sent(stack: World, tmp_path: Path) -> None:
    """The node took nothing and a portal answered for the rail: the next run still sends the transaction."""
    payer, before = Payer(stack, tmp_path), paid_units(stack)

    def watch(request_seen: Seen) -> bool | Instead:
        return request_seen.is_transaction or (
            request_seen.has_proof and request_seen.phase == "before" and Instead(200, "", None, b"{}")
        )

    stack.watch = watch
    result = payer.run_command(*call(stack, "--json", "--wait", "2"))
    stack.watch = None
    assert (result.returncode, printed_json(result)["state"], paid_units(stack) - before) == (6, "signed", 0), (
        result.stderr
    )
    assert payer.run_command(*call(stack)).returncode == 0
    assert (paid_units(stack) - before, len(payer.receipts())) == (PRICE, 1)


def test_a_receipt_of_another_payment_is_refused(stack: World, tmp_path: Path) -> None:
    """A stored answer with a valid receipt, given again to another payer of the same request, or of another one."""
    payer, before = Payer(stack, tmp_path), paid_units(stack)
    assert payer.run_command(*call(stack, "--keep", str(tmp_path / "kept"))).returncode == 0
    file_text = Instead(200, "", None, (tmp_path / "kept" / "answer.json").read_bytes())
    body = json.dumps({**payer.records()[0]["body"], "recipient_address": "screen-block"})
    for words, of in ((), "another payment"), (("--body", body), "another request"):
        result = run_pay(stack, payer, Answers(last=file_text), *call(stack, *words))
        assert (result.returncode, of in result.stderr) == (6, True), result.stderr
        assert payer.run_command(*call(stack, *words)).returncode == 0
    assert (paid_units(stack) - before, len(payer.receipts())) == (3 * PRICE, 2)


def test_an_answer_that_is_no_unicode_leaves_the_file_readable(stack: World, tmp_path: Path) -> None:
    """Half a surrogate pair in an error code is kept as an escape, and printed as one."""
    payer, before = Payer(stack, tmp_path), paid_units(stack)
    result = run_pay(stack, payer, Answers(last=Instead(402, "\ud800", None)), *call(stack, "--json"))
    assert (result.returncode, printed_json(result)["last_answer"]) == (6, "402 \\ud800"), result.stderr
    assert payer.run_command("--resume", str(payer.files()[0])).returncode == 0
    assert (paid_units(stack) - before, len(payer.receipts())) == (PRICE, 1)


def test_the_same_over_a2a(stack: World, tmp_path: Path) -> None:
    """503 and 429 are waited out; a task that the rail has lost is no loss: its proof goes over HTTP."""
    payer, before = Payer(stack, tmp_path), paid_units(stack)
    answers = Answers(Instead(503, "store_unavailable"), Instead(429, "rate_limited"), None)
    result = run_pay(stack, payer, answers, *call(stack, "--a2a"))
    assert result.returncode == 0, result.stderr
    down = Answers(last=Instead(503, "store_unavailable", "3600"))
    assert run_pay(stack, payer, down, *call(stack, "--a2a")).returncode == 5
    [file] = payer.open_files()
    record = json.loads(file.read_text())
    file.write_text(json.dumps({**record, "task": "no-such-task"}))
    result = payer.run_command("--resume", str(file))
    assert (result.returncode, "does not know the task any more" in result.stdout) == (0, True), result.stderr
    assert (paid_units(stack) - before, len(payer.receipts())) == (2 * PRICE, 2)


def test_ctrl_c_after_the_payment_says_how_to_go_on(stack: World, tmp_path: Path) -> None:
    """The exit code is that of a payment without an answer, not that of an interruption before one."""
    payer, before = Payer(stack, tmp_path), paid_units(stack)
    stack.watch = Answers(last=Instead(503, "store_unavailable", "1"))
    with tempfile.TemporaryFile() as out:
        process = prepared.start(
            "conformance", *payer.words(*call(stack)), env=payer.env, cwd=tmp_path, stdout=out, stderr=out
        )
        while not (payer.records() and payer.records()[0]["last_answer"]):
            assert process.poll() is None
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(120) == 5
        out.seek(0)
        assert b"--resume" in out.read()
    stack.watch = None
    assert payer.run_command(*call(stack)).returncode == 0
    assert paid_units(stack) - before == PRICE


def test_two_at_once_pay_once(stack: World, tmp_path: Path) -> None:
    """While one process works on the payment of a request, another neither pays nor presents."""
    payer, before = Payer(stack, tmp_path), paid_units(stack)
    stack.watch = waiting_answers = Answers(last=Instead(503, "store_unavailable", "1"))
    with tempfile.TemporaryFile() as out:
        process = prepared.start(
            "conformance", *payer.words(*call(stack)), env=payer.env, cwd=tmp_path, stdout=out, stderr=out
        )
        while not waiting_answers.proofs:
            assert process.poll() is None
            time.sleep(0.02)
        second = payer.run_command(*call(stack))
        assert (second.returncode, "another `weldproof pay` already handles" in second.stderr) == (2, True), (
            second.stderr
        )
        stack.watch = None
        assert process.wait(120) == 0
    assert (paid_units(stack) - before, len(payer.receipts())) == (PRICE, 1)


def test_kept_files_are_finished_by_a_later_run(stack: World, tmp_path: Path) -> None:
    """A folder in which an earlier run of the payment began to keep the call is no hindrance; another payment's is."""
    payer, before = Payer(stack, tmp_path), paid_units(stack)
    words = call(stack, "--keep", str(tmp_path / "kept"))
    assert run_pay(stack, payer, Answers(last=Instead(503, "store_unavailable", "3600")), *words).returncode == 5
    (tmp_path / "kept" / "request.json").write_text("half")
    result = payer.run_command(*words)
    assert (result.returncode, paid_units(stack) - before) == (0, PRICE), result.stderr
    assert json.loads((tmp_path / "kept" / "request.json").read_text())["path"] == CALL
    assert (tmp_path / "kept" / "receipt.jws").stat().st_mode & 0o777 == 0o600
    refused_run = payer.run_command(*words)
    assert (refused_run.returncode, "exists already" in refused_run.stderr) == (2, True), refused_run.stderr
    assert paid_units(stack) - before == PRICE


def test_a_receipt_that_cannot_be_written_is_shown_and_can_be_had_again(stack: World, tmp_path: Path) -> None:
    """The payment stays open, so that the next run asks for the stored answer."""
    payer, before = Payer(stack, tmp_path), paid_units(stack)
    result = payer.run_command(*call(stack, "--receipt", str(tmp_path / ("too long a name" * 20))))
    assert (result.returncode, "the receipt is printed above" in result.stderr) == (5, True), result.stderr
    assert result.stderr.startswith("eyJ")
    assert payer.run_command(*call(stack)).returncode == 0
    assert (paid_units(stack) - before, len(payer.receipts())) == (PRICE, 1)


def test_what_is_kept_of_a_call_over_a2a_verifies_whole(stack: World, tmp_path: Path) -> None:
    """Request, answer and settlement are those of the same call over HTTP, and the printed command holds them all."""
    payer = Payer(stack, tmp_path)
    result = payer.run_command(*call(stack, "--a2a", "--keep", str(tmp_path / "kept"), "--json"))
    assert result.returncode == 0, result.stderr
    words = shlex.split(printed_json(result)["verify"])
    verified_run = prepared.run("conformance", *words[1:], "--json", env=payer.env, cwd=tmp_path, timeout=600)
    assert verified_run.returncode == 0, (verified_run.stdout, verified_run.stderr)
    bindings = json.loads(verified_run.stdout)["receipts"][0]["bindings"]
    assert {one["outcome"] for one in bindings} == {"holds"}
    assert len(bindings) == 4


def test_another_lane_is_no_second_payment(stack: World, tmp_path: Path) -> None:
    """An open payment of the request on one lane is not paid again on another without a word for it."""
    payer, before = Payer(stack, tmp_path), paid_units(stack)
    down = Answers(last=Instead(503, "store_unavailable", "3600"))
    assert run_pay(stack, payer, down, *call(stack)).returncode == 5
    result = payer.run_command(*call(stack, "--lane", "base"))
    assert (result.returncode, "Give --again" in result.stderr or "give --again" in result.stderr) == (5, True), (
        result.stderr
    )
    assert (len(payer.files()), paid_units(stack) - before) == (1, PRICE)


@pytest.mark.parametrize(("typed_bytes", "code"), [(b"y\n", 0), (b"n\n", 5), (b"\n", 5)])
def test_a_person_at_a_terminal_is_asked_first(stack: World, tmp_path: Path, typed_bytes: bytes, code: int) -> None:
    """The open payment is offered; without a yes nothing is presented, and nothing is paid either."""
    payer, before = Payer(stack, tmp_path), paid_units(stack)
    down = Answers(last=Instead(503, "store_unavailable", "3600"))
    assert run_pay(stack, payer, down, *call(stack)).returncode == 5
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "conformance", *payer.words(*call(stack))]
    stack.watch = answers_seen = Answers()
    with subprocess.Popen(
        words, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL, cwd=tmp_path, env=payer.env
    ) as process:
        os.close(theirs)
        output = b""
        while b"[y/N]: " not in output:
            output += os.read(ours, 1000)
        os.write(ours, typed_bytes)
        assert process.wait(600) == code
    os.close(ours)
    stack.watch = None
    assert b"Continue 0.05 USDC on algorand_mainnet" in output
    assert (bool(answers_seen.proofs), paid_units(stack) - before) == (code == 0, PRICE)
