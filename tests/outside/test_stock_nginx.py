"""Stock nginx, with its default buffers, passes on every 402 of a rail with three lanes, and paid calls."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from programs.missing import Missing
from tests import prepared
from tests.reference.web.nginx_front import behind_nginx

PATHS = ("/pay/v1/verify/receipt", "/pay/v1/verify/rfc9421", "/pay/v1/compliance/receipt")
# The longest public address for which P-CH-02 gives the limit. The stack's own is shorter.
LONGEST_PUBLIC_URL = 64
LIMIT_BYTES = 4_000


@pytest.fixture(scope="module")
def front(stack: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the rail behind nginx."""
    port = urlsplit(stack["rail"]).port
    assert port is not None
    try:
        with behind_nginx(tmp_path_factory.mktemp("stock") / "nginx", {"rail": port}) as addresses:
            yield "http://{}:{}".format(*addresses["rail"])
    except Missing as missing:
        pytest.fail(str(missing))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("body", "headers"),
    [("{}", {}), ("", {}), ("", {"X-PAYMENT": "please"})],
    ids=["a refused body", "no body", "a refused proof"],
)
def test_each_402_passes(stack: dict[str, str], front: str, path: str, body: str, headers: dict[str, str]) -> None:
    """The fields stay below 4,000 bytes, also if the public address had 64 characters."""
    fields = {"Content-Type": "application/json", **headers}
    assert httpx.post(front + path, content=body, headers=fields, trust_env=False).status_code == 402
    answer = httpx.post(stack["rail"] + path, content=body, headers=fields, trust_env=False)
    head = b"HTTP/1.1 402 Payment Required\r\n" + b"".join(
        name + b": " + value + b"\r\n" for name, value in answer.headers.raw
    )
    # Base64 makes four bytes of three.
    further = (LONGEST_PUBLIC_URL - len(stack["rail"])) * 4 // 3
    assert len(answer.json()["accepts"]) == 3
    assert len(head) + further < LIMIT_BYTES


@pytest.mark.parametrize("lane", ["algorand", "base", "solana"])
def test_a_call_is_paid_through_it(stack: dict[str, str], front: str, lane: str, tmp_path: Path) -> None:
    """`weldproof pay` reads the challenge and gets the receipt, on each lane."""
    url = front + PATHS[0]
    words = ["pay", url, "--lane", lane, "--config", stack["profile"], "--receipt", str(tmp_path / "receipt.jws")]
    words += ["--allow-host", urlsplit(front).netloc]
    process = prepared.run("conformance", *words, env=os.environ, cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "receipt.jws").read_text().count(".") == 2
