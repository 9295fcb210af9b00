"""The offline verifier needs no server library, and starts without one."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("quart", "hypercorn", "sqlalchemy", "aiohttp", "web3", "solders", "algosdk", "schemathesis", "structlog")


@pytest.mark.parametrize(
    "modules",
    [
        "conformance.receipts.offline.verifying, conformance.receipts.offline.page",
        "conformance.cli.receipt.verify, conformance.cli.receipt.inspect",
        "conformance.vectors.judges.receipts",
    ],
)
def test_no_server_library_is_loaded(modules: str) -> None:
    """In a process of its own, where nothing else was imported."""
    program = f"import sys, {modules}; print([one for one in {HEAVY!r} if one in sys.modules])"
    ended_run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=600)
    assert ended_run.stdout == "[]\n"


def test_they_do_without_those_libraries() -> None:
    """Every one of them refuses to be imported, and a receipt verifies still."""
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({HEAVY!r}))\n"
        "from conformance.cli import main\n"
        "main(['receipt', 'verify', '-', '--key-hex', '03' * 32])"
    )
    ended_run = subprocess.run(
        [sys.executable, "-c", program], input="a.b.c", capture_output=True, text=True, check=False, timeout=600
    )
    assert (ended_run.returncode, ended_run.stderr) == (1, "")
    assert "INVALID_JWS_FORMAT" in ended_run.stdout
