"""An archive of a run obeys HAR 1.2, says npm's har-validator, and holds no secret."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.cli.report import command
from conformance.http.client import Client, Counter, Names
from conformance.log.events import LOG, EventLog
from conformance.outcome import Verdict
from conformance.report.har import archive
from localnet.npm import node_modules
from programs.node import node
from tests.conformance.report.run_builder import RunBuilder

FOLDER = Path(__file__).parent / "har"
SECRETS = ("czNjcmV0LXByb29m", "key-0123456789", "tok-0123456789")


def opinion(value: object) -> Any:
    """Return what har-validator finds wrong with an archive, None where nothing is."""
    words = [str(node().path), str(FOLDER / "opinion.mjs"), str(node_modules(FOLDER))]
    result = subprocess.run(words, input=json.dumps(value), capture_output=True, text=True, timeout=600, check=True)
    return json.loads(result.stdout)


class Echo:
    """A transport that sends back what it was sent."""

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        response_headers = {"Location": url, "Content-Type": "application/json", "X-Seen": f"{method} {dict(headers)}"}
        return 303, CIMultiDictProxy(CIMultiDict(response_headers)), body or b"{}"


async def record_run() -> EventLog:
    """Return the log of a run through the recording client, with secrets in every place a request has."""
    run = RunBuilder(["RAIL-402-01"])
    client = Client(Echo(), run.log, "a_check", Names(), Counter())
    client.names.secret(SECRETS[0], "X_PAYMENT")
    client.names.secret(SECRETS[1], "API_KEY")
    client.names.name(SECRETS[2], "TOKEN")
    fields = {"X-PAYMENT": SECRETS[0], "Authorization": f"Bearer {SECRETS[1]}"}
    url = f"http://h/links/{SECRETS[2]}?q={SECRETS[2]}&empty="
    await client.call("POST", url, json_body={"token": SECRETS[2], "key": SECRETS[1]}, headers=fields)
    run.finish({})
    return run.log


async def test_secrets_stay_names() -> None:
    """Neither what was sent nor what a target sent back has a secret in the archive."""
    value = archive((await record_run()).events)
    (entry,) = value["log"]["entries"]
    text = json.dumps(value)
    assert [secret for secret in SECRETS if secret in text] == []
    assert entry["request"]["url"] == "http://h/links/$TOKEN?q=$TOKEN&empty="
    assert entry["request"]["queryString"] == [{"name": "q", "value": "$TOKEN"}, {"name": "empty", "value": ""}]
    assert {"name": "X-PAYMENT", "value": "$X_PAYMENT"} in entry["request"]["headers"]
    assert json.loads(entry["request"]["postData"]["text"]) == {"token": "$TOKEN", "key": "$API_KEY"}
    assert (entry["response"]["status"], entry["response"]["statusText"]) == (303, "See Other")
    assert opinion(value) is None


def whole() -> dict[str, Any]:
    """Return an archive with all there is: an answer, none, a delivery, what is neither text nor an address."""
    run = RunBuilder(["RAIL-402-01"])
    run.exchange("a_check")
    run.exchange("a_check", status=None)
    broken = "http://127.0.0.1:8402/a b/\ud800?<x>&ä=%zz"
    run.exchange("another", answer="\x00\ud800\u202e", status=799, url=broken, method="B R", body=None, headers=[])
    run.arrival("first", '{"event":1}')
    run.arrival("first", "", silent=True)
    return archive(run.finish({"RAIL-402-01": Verdict.FAIL}))


def test_har_validator_finds_no_fault() -> None:
    """Of whatever kind an exchange is; a page is a check, and what HAR has no word for stands beside."""
    value = whole()
    assert opinion(value) is None
    log = value["log"]
    assert [page["id"] for page in log["pages"]] == ["a_check", "another", "deliveries"]
    assert [entry["_number"] for entry in log["entries"]] == [1, 2, 3, 4, 5]
    assert (log["entries"][1]["response"]["status"], log["entries"][1]["_error"]) == (0, "connection refused")
    assert log["entries"][3]["_delivered_to"] == "first"


@pytest.mark.parametrize("member", ["request", "response", "startedDateTime", "timings"])
def test_har_validator_finds_what_is_missing(member: str) -> None:
    """The control: an entry without one of its members is refused."""
    value = copy.deepcopy(whole())
    del value["log"]["entries"][0][member]
    assert opinion(value) is not None


async def test_the_command_writes_the_archive_of_a_run(tmp_path: Path) -> None:
    """To standard output or a file, all of it or one check's; a check that is not there is a usage fault."""
    folder = tmp_path / "report"
    log = EventLog(folder / LOG)
    for event in (await record_run()).events:
        log.add(**event)
    log.close()
    runner = CliRunner()
    shown = json.loads(runner.invoke(command, ["har", str(folder)]).output)
    assert shown == archive(log.events)
    runner.invoke(command, ["har", str(folder), "--check", "a_check", "-o", str(tmp_path / "run.har")])
    assert json.loads((tmp_path / "run.har").read_bytes()) == shown
    refusal = runner.invoke(command, ["har", str(folder), "--check", "no_such"])
    assert (refusal.exit_code, "no exchange of this run" in refusal.output) == (2, True)
    (tmp_path / "empty").mkdir()
    assert runner.invoke(command, ["har", str(tmp_path / "empty")]).exit_code == 2
