"""One real run of the bench in process, as small as it gets; and the servers it offers to a bench from outside."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from reference.protocol.receipt_verification import verify_receipt
from reference.protocol.weld import Payment
from reference.store.database import Database
from reference.store.redemption_rows import NewClaim
from reference.store.redemptions import Redemptions
from tools.bench.reference import material
from tools.bench.reference.asgi_calls import call
from tools.bench.reference.comparison_databases import DirectDatabase, EngineDatabase
from tools.bench.reference.jobs import JOBS
from tools.bench.reference.memory_rail import PATH, memory_rail


@pytest.mark.slow
def test_every_job_is_measured_beside_its_floors() -> None:
    """One round of each job tells positive costs of every contender and the versions."""
    result = subprocess.run(
        [sys.executable, "-m", "tools.bench.reference", "--json", "--rounds", "1", "--seconds", "0.004"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    document = json.loads(result.stdout)
    assert list(JOBS) == [job["job"] for job in document["jobs"]]
    for job in document["jobs"]:
        assert sorted({one["role"] for one in job["contenders"]} - {"peer"}, reverse=True) == ["ours", "floor"]
        assert all(one["rounds"][0] > 0 for one in job["contenders"])
        assert all(one["ratio"] > 0 for one in job["contenders"] if one["role"] != "ours")
    assert {"quart", "pynacl", "sqlalchemy"} <= document["versions"].keys()


def test_turns_answer_line_by_line() -> None:
    """The first line says what is verified, each later one what a verification cost."""
    words = [sys.executable, "-m", "tools.bench.reference", "turns", "receipt", "--seconds", "0.002"]
    result = subprocess.run(words, input="\n\n", capture_output=True, text=True, check=True, timeout=250)
    first, *costs = map(json.loads, result.stdout.splitlines())
    receipt = first["given"]
    report = verify_receipt(jws=receipt["jws"], jwks=receipt["jwks"], expected_payment_hash=None, platform_keys=())
    assert report["verified"] is True
    assert len(costs) == 2
    assert min(costs) > 0


def test_a_profile_names_modules() -> None:
    """The signature check and our own modules have shares of a receipt's verification, the largest first."""
    words = [sys.executable, "-m", "tools.bench.reference", "profile", "receipt"]
    result = subprocess.run(words, capture_output=True, text=True, check=True, timeout=250)
    parts = json.loads(result.stdout)["receipt"]
    shares = {one["part"]: one["share"] for one in parts}
    assert shares["C: dalek verify_strict"] > 0.1
    assert shares["reference.protocol.receipt_verification"] > 0.01
    assert sorted(shares.values(), reverse=True) == list(shares.values())
    assert sum(shares.values()) <= 1.01


async def test_a_rail_in_memory_sells_once(tmp_path: Path) -> None:
    """A prepared proof buys one call with a receipt; presented again it gets the same answer, as on any chain."""
    async with memory_rail(tmp_path, material.receipt()) as rail:
        (proof,) = await rail.proofs(1)
        first = await call(rail.app, "POST", PATH, rail.body, [(b"x-payment", proof)])
        second = await call(rail.app, "POST", PATH, rail.body, [(b"x-payment", proof)])
    assert first.status == 200
    answer = json.loads(first.body)
    assert answer["result"]["verified"] is True
    assert answer["payable_receipt"]
    assert (first.body, b"true") == (second.body, second.headers[b"idempotent-replayed"])


async def test_a_rail_in_memory_takes_no_other_proof(tmp_path: Path) -> None:
    """A proof without a payment is refused: the rail under measurement still judges."""
    async with memory_rail(tmp_path, material.receipt()) as rail:
        proofs = await rail.proofs(2)
        halves = [json.loads(base64.b64decode(proof)) for proof in proofs]
        mixed_proof = {**halves[0], "tx_id": halves[1]["tx_id"]}
        header = base64.b64encode(json.dumps(mixed_proof).encode())
        answer = await call(rail.app, "POST", PATH, rail.body, [(b"x-payment", header)])
    assert answer.status == 402
    assert json.loads(answer.body)["error"] == "weld_mismatch"


@pytest.mark.parametrize("kind", [DirectDatabase, EngineDatabase])
async def test_other_stores_do_the_same_work(kind: type[DirectDatabase | EngineDatabase], tmp_path: Path) -> None:
    """A claim is taken once and paid once on each store that ours is held against."""
    database: Database = kind(tmp_path / "file")
    try:
        ledger = Redemptions(database)
        await ledger.prepare()
        claim = NewClaim("t", "p", "h", "s", "n", "x", "1", "a", 2)
        row = await ledger.claim(claim, worker="w", now=1, order=1)
        assert row is not None
        assert await ledger.claim(claim, worker="w", now=1, order=2) is None
        assert await ledger.mark_paid(row, Payment("P", "x"), worker="w", now=1) is not None
        assert await ledger.mark_paid(row, Payment("P", "x"), worker="w", now=1) is None
        assert [one.token for one in await ledger.find_involved("t", "other")] == ["t"]
        await ledger.forget(unpaid_before=0, answers_before=0)
    finally:
        await database.close()


def test_the_rail_in_memory_is_served(tmp_path: Path) -> None:
    """On Hypercorn, over a socket that was handed down, a prepared proof buys a call."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.set_inheritable(True)
        port = listener.getsockname()[1]
        words = [sys.executable, "-m", "tools.bench.reference", "serve", "rail", "--fd", str(listener.fileno())]
        words += ["--folder", str(tmp_path), "--proofs", "1"]
        with subprocess.Popen(words, pass_fds=[listener.fileno()], stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
                proof = (tmp_path / "proofs").read_text("ascii")
                headers = {"Content-Type": "application/json", "X-PAYMENT": proof}
                request = urllib.request.Request(
                    f"http://127.0.0.1:{port}{PATH}", (tmp_path / "body").read_bytes(), headers
                )
                with urllib.request.urlopen(request, timeout=60) as answer:
                    assert answer.status == 200
            finally:
                process.terminate()
                process.wait(120)
