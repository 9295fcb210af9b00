"""Stock Node.js keeps an idle connection for five seconds and says so: nothing is lost over one that it closes."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import aiohttp

from conformance.http.transport import HttpTransport
from tests import prepared
from tests.conformance.node_servers import node_servers

PATH = "/pay/v1/receipt/verify"
# Seconds: a connection that was idle for so long is not used again; after the others, Node has closed every idle one.
IDLE, MORE = 4.5, 3.0
# Of three checks: some calls of the paid operation, and some documents.
ROWS = ("RAIL-402-01", "RAIL-402-03", "RAIL-402-19", "RAIL-KEY-01", "RAIL-KEY-03")
PROFILE = """
[surfaces.rail]
url = "http://{place}"
[claims]
surfaces = ["rail"]
lanes = ["base"]
[pace]
requests_per_second = 0
[pace.limits]
"POST /pay/v1/receipt/verify" = 11
"""


async def test_nothing_is_sent_over_what_node_is_about_to_close(tmp_path: Path) -> None:
    """A busy Node.js closes an idle connection without reading what came over it; a client that kept it loses that."""
    with node_servers(tmp_path) as places:
        url = f"http://{places['stalling']}"
        connector = aiohttp.TCPConnector(keepalive_timeout=15)
        async with (
            HttpTransport(seconds=600, requests_per_second=0, connections=1) as ours,
            aiohttp.ClientSession(connector=connector) as control,
        ):

            async def control_request() -> int:
                async with control.post(url + PATH, data=b"{}") as answer:
                    await answer.read()
                    return answer.status

            first = await ours.send("POST", url + PATH, [], b"{}")
            assert (first[0], first[1]["Keep-Alive"], await control_request()) == (402, "timeout=5", 402)
            async with aiohttp.ClientSession() as session, session.get(f"{url}/stall") as stalled_answer:
                assert stalled_answer.status == 200
            await asyncio.sleep(IDLE)
            tasks = [asyncio.create_task(one) for one in (ours.send("POST", url + PATH, [], b"{}"), control_request())]
            await asyncio.sleep(MORE)
            (tmp_path / "over").touch()
            answer, lost_call = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(answer, tuple)
            assert answer[0] == 402
            assert isinstance(lost_call, aiohttp.ClientOSError)
            _, _, requests_seen = await ours.send("GET", f"{url}/seen", [], None)
    # Twice ours, once the control's, and this; ours over a connection each time that it had been idle.
    assert json.loads(requests_seen)["requests"] == 4


def test_rows_that_are_judged_seconds_apart_are_decided(tmp_path: Path) -> None:
    """Calls that a limit keeps 5.7 s apart, each over a connection that Node has closed since or is about to."""
    with node_servers(tmp_path) as places:
        (tmp_path / "target.toml").write_text(PROFILE.format(place=places["right"]), "utf-8")
        words = ("run", *ROWS, "--config", "target.toml", "--json")
        result = prepared.run("conformance", *words, env=os.environ, cwd=tmp_path, timeout=600)
    tests = json.loads(result.stdout)["results"]["tests"]
    verdicts = {one["extra"]["requirement"]["id"]: one["rawStatus"] for one in tests}
    assert set(verdicts) == set(ROWS)
    assert set(verdicts.values()) <= {"pass", "fail"}, verdicts
    assert verdicts["RAIL-402-01"] == "pass"
