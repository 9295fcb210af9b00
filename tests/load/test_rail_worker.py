"""What `make load` calls: a rail whose payments are lines of a file, and calls that are paid by them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx

from reference.protocol.observed_transaction import ABSENT
from tests.load.__main__ import list_rail_workers, prepare_proofs, run_workers
from tests.load.rail_worker import PAYMENTS, FileLane
from tools.bench.reference import material
from tools.bench.reference.memory_rail import name_transaction


async def test_a_line_of_the_file_is_a_payment(tmp_path: Path) -> None:
    """Lines that are added later count, too, and anything else is absent."""
    file = tmp_path / PAYMENTS
    lane = FileLane(file, 10_000)
    assert await lane.observe(name_transaction("first")) is ABSENT
    file.write_text("first\n", "ascii")
    assert (await lane.observe(name_transaction("first"))).note == b"first"
    with file.open("a", encoding="ascii") as lines:
        lines.write("second\n")
    second = await lane.observe(name_transaction("second"))
    assert (second.note, second.final, second.transfers[0].value) == (b"second", True, 10_000)
    assert await lane.observe(name_transaction("third")) is ABSENT


def test_either_worker_serves_a_proof_once(tmp_path: Path) -> None:
    """Proofs of challenges of one worker buy at both, and none buys a second receipt."""
    receipt = material.receipt()
    body = json.dumps({"jws": receipt.jws, "jwks": receipt.jwks}).encode()
    with run_workers(list_rail_workers(tmp_path / "rail", 2, None)) as workers:
        proofs = asyncio.run(prepare_proofs(workers[0].url, body, tmp_path / "rail", 2))
        assert len({*proofs}) == len(proofs) >= 2

        def present(url: str, proof: str) -> httpx.Response:
            headers = {"Content-Type": "application/json", "X-PAYMENT": proof}
            return httpx.post(f"{url}/pay/v1/verify/receipt", content=body, headers=headers, trust_env=False)

        answers = [present(worker.url, proof) for worker, proof in zip(workers, proofs, strict=False)]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert present(workers[1].url, proofs[0]).content == answers[0].content
        assert present(workers[0].url, "e30=").status_code == 402
