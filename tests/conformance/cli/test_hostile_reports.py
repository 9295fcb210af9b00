"""A report folder, receipt, message or package from a stranger: nothing is executed, asked, read elsewhere or paid."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import random
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance import vectors
from conformance.cli import main
from conformance.cli.replay.record import _company
from conformance.log import file as log_file
from conformance.outcome import PaidExit
from conformance.report.formats import FORMATS

SECRET = "canary-secret-0123456789"
HOSTILE = (
    "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\n::error file=x::owned\n  ::set-output name=a::b\n"
    "##[error]owned ##vso[task.setvariable variable=a]b\r\n\u202e"
)
ROW, CHECK = "RAIL-402-01", "unpaid_calls_are_refused"
# What a terminal or a build service would obey.
OBEYED_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]|(?m:^)\s*::[A-Za-z]|##[A-Za-z]*\[")


@dataclass(frozen=True, slots=True)
class Trap:
    """What a stranger sent, and what shows that it had an effect.

    Attributes:
        folder: Where the commands are called; the report folder in it is `sent`.
        canary: A file that a command of the stranger's would make.
        victim: A file of the user's, to which the folder has links.
        server: A socket at which nothing must arrive.
    """

    folder: Path
    canary: Path
    victim: Path
    server: socket.socket

    @property
    def url(self) -> str:
        """The stranger's address."""
        return f"http://127.0.0.1:{self.server.getsockname()[1]}"

    def assert_nothing_happened(self, result: Result) -> None:
        """See that no effect shows, and that the command ended as it says."""
        assert result.exit_code in {0, 1, 2, 3, PaidExit.ANSWER_MISSING}, f"{result.exit_code}: {result.output}"
        assert not self.canary.exists()
        assert self.victim.read_text() == "kept"
        assert SECRET not in result.output
        assert OBEYED_TEXT.search(result.output.replace("\t", " ")) is None, OBEYED_TEXT.search(result.output)
        with pytest.raises(BlockingIOError):
            self.server.accept()


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trap]:
    """Set the trap up."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CANARY_SECRET", SECRET)
    monkeypatch.setenv("TENANT_FIRST_KEY", SECRET)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        new_trap = Trap(tmp_path, tmp_path / "canary", tmp_path / "victim", server)
        new_trap.victim.write_text("kept")
        for name in ("sent", "other"):
            folder = tmp_path / name
            folder.mkdir()
            write_log(folder, events(new_trap, shard="1/2" if name == "sent" else "2/2"))
            for kind in FORMATS.values():
                (folder / kind.file).symlink_to(new_trap.victim)
        (tmp_path / "sent" / "evil.toml").write_text(profile(new_trap))
        yield new_trap


def profile(trap: Trap) -> str:
    """Return a profile that runs a command, reads a secret, and pays at the stranger's."""
    return (
        f'[surfaces.rail]\nurl = "{trap.url}"\nrestart = ["touch", "{trap.canary}"]\n'
        f'[surfaces.control_plane]\nurl = "{trap.url}"\n[claims]\nsurfaces = ["rail", "control_plane"]\n'
        'lanes = ["algorand"]\n[secrets]\nstolen = { env = "CANARY_SECRET" }\n[hub.token]\nenv = "CANARY_SECRET"\n'
        f'[chains.algorand]\nnetwork = "algorand_testnet"\nalgod = "{trap.url}"\ntoken = {{ env = "CANARY_SECRET" }}\n'
        'funder = { env = "CANARY_SECRET" }\n[[xfail]]\nid = "RAIL-402-01"\nreason = "x"\nowner = "x"\n'
        "expires = 2999-01-01\n"
    )


def events(trap: Trap, shard: str) -> list[dict[str, Any]]:
    """Return a log in which everything that can be chosen is hostile."""
    options = {
        "config": "sent/evil.toml",
        "addresses": [f"rail={trap.url}"],
        "chains": "sent/evil.toml",
        "cacert": "../../etc/passwd",
        "insecure": True,
        "settings": [f"WP_RAIL_SERVICES=$(touch {trap.canary})"],
        "mutant": f"$(touch {trap.canary})",
        "shard": shard,
        "report_dir": "../../etc",
    }
    request = {
        "method": f"GET{HOSTILE}",
        "url": f"{trap.url}/$CANARY_SECRET{HOSTILE}",
        "path": f"/{HOSTILE}",
        "headers": [["x-a", "$CANARY_SECRET"], [f"@{trap.victim}", HOSTILE]],
        "body": f"@{trap.victim} $(touch {trap.canary}) $TENANT_FIRST_KEY {HOSTILE}",
        "names": {"url": [[len(trap.url) + 1, 14]], "headers": {"0": [[0, 14]]}, "body": [[0, 4]]},
    }
    answered_members = {
        "status": 500,
        "headers": [[HOSTILE, HOSTILE]],
        "body": HOSTILE,
        "body_bytes": 3,
        "milliseconds": 1.0,
    }
    claim = {"part": HOSTILE, "name": HOSTILE, "left": HOSTILE, "right": "1", "grade": "matters", "why": HOSTILE}
    side = {"name": HOSTILE, "source": trap.url, "place": HOSTILE, "exchange": 1, "verified": False, "fault": HOSTILE}
    row = ROW if shard == "1/2" else "RAIL-402-02"
    return [
        {
            "event": "run.started",
            "run_id": f"$(touch {trap.canary})",
            "suite_version": HOSTILE,
            "seed": 7,
            "started_at": 1_760_000_000,
            "target": {"name": HOSTILE, "surfaces": {"rail": trap.url, HOSTILE: HOSTILE}},
            "chains": {},
            "claims": {"surfaces": [HOSTILE], "lanes": [HOSTILE], "options": []},
            "non_defaults": [{"key": HOSTILE, "value": HOSTILE}],
            "rows": [row],
            "options": options,
            "quick": False,
            "variables": ["CANARY_SECRET"],
            "not_alone": {HOSTILE: HOSTILE},
        },
        {"event": "check.started", "check": CHECK, "rows": [row]},
        {"event": "exchange", "n": 1, "check": CHECK, "ordinal": 1, "retry": False, "request": request,
         "response": answered_members, "error": HOSTILE},
        {"event": "note", "check": "run", "text": HOSTILE},
        {"event": "judgement", "check": CHECK, "row": row, "verdict": "fail", "expected": HOSTILE, "found": HOSTILE,
         "exchange": 1, "hint": HOSTILE, "where": {HOSTILE: HOSTILE}},
        {"event": "judgement", "check": HOSTILE, "row": HOSTILE, "verdict": "fail", "expected": HOSTILE,
         "found": None, "exchange": None, "hint": None, "where": {}},
        {"event": "comparison", "call": HOSTILE, "lane": None, "left": {**side, "receipt": HOSTILE},
         "right": {**side, "receipt": None}, "missing": None, "grade": "matters", "claims": [claim]},
        {"event": "check.finished", "check": CHECK, "seconds": 1.0, "outcome": "done", "error": None},
        {"event": "row", "id": row, "verdict": "fail", "reason": HOSTILE, "checks": [CHECK],
         "expected_failure": None},
        {"event": "run.finished", "seconds": 1.0, "exit_code": 1, "interrupted": False, "counts": {"fail": 1}},
    ]  # fmt: skip


def write_log(folder: Path, events_listed: list[dict[str, Any]]) -> None:
    """Write a log as a run would."""
    text = "".join(json.dumps(one) + "\n" for one in events_listed)
    (folder / "events.ndjson.gz").write_bytes(gzip.compress(text.encode()))


def weldproof(*words: object) -> Result:
    """Call the command without a terminal."""
    return CliRunner().invoke(main, [str(word) for word in words], input="")


REPORT_COMMANDS = [
    "replay sent#1",
    "replay sent#1 --json",
    "replay sent#1 --tries 3 --beside",
    "replay sent/events.ndjson.gz#1",
    "report show sent",
    "report show sent -v",
    "report show sent --json",
    *(f"report write sent --report {kind}" for kind in FORMATS),
    "report diff sent other",
    "report diff sent other --json",
    "report requests sent other",
    "report requests sent other --json",
    "report har sent",
    "report har sent -o archive.har",
    "report matrix sent other",
    "report matrix sent other --format markdown",
    "report matrix sent other --json",
    "report merge sent other --report-dir merged",
    "receipt diff sent other",
    "receipt inspect sent/events.ndjson.gz",
]


@pytest.mark.parametrize("line", REPORT_COMMANDS)
def test_a_hostile_report_folder_has_no_effect(line: str, trap: Trap) -> None:
    """No command of it runs, its secret is not read, its address is not asked, and no file of the user's changes."""
    trap.assert_nothing_happened(weldproof(*line.split()))


@pytest.mark.usefixtures("trap")
def test_a_replay_of_a_hostile_report_is_refused_and_explained() -> None:
    """It ends with 2 before anything is opened, and says what is to be given."""
    result = weldproof("replay", "sent#1")
    assert result.exit_code == 2
    assert "A replay takes no target, program or secret from a log" in result.output


def test_a_log_that_starts_a_check_over_and_over_is_read_in_time() -> None:
    """The time for the checks that ran beside another grows with the length of the log, and not with its square."""
    count = 100_000
    events = [{"event": "check.started", "check": f"c{number}"} for number in range(count)]
    events += [{"event": "check.started", "check": CHECK} for _ in range(count)]
    assert len(_company(events, CHECK)) == count


@pytest.mark.usefixtures("trap")
def test_what_a_hostile_report_prints_is_safe_to_paste() -> None:
    """Neither the replay line nor the curl line takes a file, a variable or a command that the log chose."""
    output = weldproof("report", "show", "sent").output
    replay = next(line for line in output.splitlines() if "replay    " in line)
    assert "evil.toml" not in replay
    assert "--config PROFILE" in replay
    assert "$(touch" not in re.sub("'[^']*'", "", replay)
    assert '"$' not in output


@pytest.mark.parametrize(
    "options",
    [
        {"config": "sent/agent.toml"},
        {"config": "sent/agent.toml", "insecure": True, "timeout": 1.0},
        {"addresses": ["agent={url}"]},
        {"addresses": ["agent={url}"], "chains": "sent/evil.toml"},
    ],
)
def test_a_replay_asks_no_address_of_a_log(options: dict[str, Any], trap: Trap) -> None:
    """A sound log of a check that needs no payment, whose profile and addresses are the stranger's."""
    (trap.folder / "sent" / "agent.toml").write_text(
        f'[surfaces.agent]\nurl = "{trap.url}"\n[claims]\nsurfaces = ["agent"]\n[budgets]\nrequest = 1.0\n'
    )
    document = json.loads(json.dumps(options).replace("{url}", trap.url))
    request: dict[str, Any] = {
        "method": "GET",
        "url": f"{trap.url}/health",
        "path": "/health",
        "headers": [],
        "body": None,
    }
    started_members = {
        "seed": 1,
        "rows": ["AGENT-HTTP-01"],
        "options": document,
        "target": {"name": "x", "surfaces": {}},
    }
    sent_members = {"n": 1, "check": "health_and_landing_are_json", "ordinal": 1, "retry": False, "request": request}
    write_log(
        trap.folder / "sent",
        [
            {"event": "run.started", "run_id": "0", **started_members},
            {"event": "exchange", **sent_members, "response": None, "error": ""},
        ],
    )
    result = weldproof("replay", "sent#1")
    trap.assert_nothing_happened(result)
    assert result.exit_code == 2


def test_a_link_in_a_report_folder_is_not_read(trap: Trap) -> None:
    """A folder could name any file of its reader's, whose text would come to a build's public log."""
    (trap.folder / "sent" / "events.ndjson.gz").unlink()
    (trap.folder / "secret.ndjson").write_text(json.dumps({"event": "note", "check": "run", "text": SECRET}) + "\n")
    (trap.folder / "sent" / "events.ndjson.gz").symlink_to(trap.folder / "secret.ndjson")
    for line in REPORT_COMMANDS[:1] + REPORT_COMMANDS[4:8] + REPORT_COMMANDS[-8:-2]:
        result = weldproof(*line.split())
        assert result.exit_code == 2, line
        trap.assert_nothing_happened(result)


def test_a_report_is_written_in_place_of_a_link(trap: Trap) -> None:
    """What the link named keeps its text, and the report is there."""
    assert weldproof("report", "write", "sent", "--report", "html").exit_code == 0
    report_page = trap.folder / "sent" / "index.html"
    assert not report_page.is_symlink()
    assert "<script>alert" not in report_page.read_text()
    assert trap.victim.read_text() == "kept"


def test_a_json_report_of_a_stranger_is_shown_as_text(trap: Trap) -> None:
    """`report.json` repeats the sentences of requirements, which a stranger can rewrite."""
    output = json.loads(weldproof("report", "show", "sent", "--json").output)
    for test in output["results"]["tests"]:
        test["extra"]["requirement"]["sentence"] = HOSTILE
    (trap.folder / "sent.json").write_text(json.dumps(output))
    for line in (
        "report show sent.json",
        "report show sent.json -v",
        "report diff sent.json other",
        "report matrix sent.json",
    ):
        trap.assert_nothing_happened(weldproof(*line.split()))


BOMBS: dict[str, Callable[[], bytes]] = {
    "a log of one line": lambda: gzip.compress(b'{"event":"' + bytes(40_000_000)),
    "a log of many lines": lambda: gzip.compress(b'{"event":"note"}\n' * 200_000),
    "bodies that refer to one": lambda: gzip.compress(
        json.dumps({"event": "x", "request": {"body": "a" * 1000}}).encode()
        + b"\n"
        + b'{"event":"x","request":{"body":{"line":1,"of":"request"}}}\n' * 20_000
    ),
    "a plain log": lambda: b'{"event":"note"}\n' * 200_000,
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize(
    "line", ["report show sent", "report har sent", "report write sent --report json", "replay sent#1"]
)
def test_a_log_that_unpacks_without_end_is_refused(
    line: str, bomb: str, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends with 2 and names the limit, and reads no more."""
    monkeypatch.setattr(log_file, "LARGEST_LOG", 2_000_000)
    monkeypatch.setattr(log_file, "MOST_LETTERS", 1_000_000)
    (trap.folder / "sent" / "events.ndjson.gz").write_bytes(BOMBS[bomb]())
    result = weldproof(*line.split())
    assert result.exit_code == 2
    assert "which is the limit" in result.output or "repeated beyond" in result.output


READING = [
    "replay sent#1",
    "report show sent",
    "report show sent --json",
    " ".join(["report write sent", *(f"--report {kind}" for kind in FORMATS)]),
    "report diff sent other",
    "report requests sent other",
    "report har sent",
    "report matrix sent other",
    "report merge sent other --report-dir merged",
    "receipt diff sent other",
]


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_log_is_a_fault_of_usage_and_not_of_the_suite(seed: int, trap: Trap) -> None:
    """Any member of any event may be of another kind, or missing."""
    rng = random.Random(seed)
    for name in ("sent", "other"):
        events_listed = events(trap, shard="1/2" if name == "sent" else "2/2")
        for _ in range(rng.choice((1, 1, 2, 3))):
            damage(rng, events_listed)
        write_log(trap.folder / name, events_listed)
    for line in READING:
        result = weldproof(*line.split())
        assert result.exit_code in {0, 1, 2, 3}, f"{line}: {result.output}"


def damage(rng: random.Random, events_listed: list[dict[str, Any]]) -> None:
    """Change or remove a member somewhere in a log."""
    place: Any = rng.choice(events_listed)
    while isinstance(place, dict | list) and place:
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
        if rng.random() < 0.5 or not isinstance(place[key], dict | list) or not place[key]:
            if rng.random() < 0.3 and isinstance(place, dict):
                del place[key]
            else:
                place[key] = rng.choice((None, [], {}, -1, 2**70, 1e400, "x", True, [[]], {"a": None}, "\ud800"))
            return
        place = place[key]


def jws(trap: Trap) -> str:
    """Return a receipt that names keys at the stranger's."""
    header = {
        "alg": "EdDSA",
        "kid": f"{trap.url}/key",
        "jku": f"{trap.url}/jwks",
        "x5u": f"{trap.url}/x",
        "typ": HOSTILE,
    }
    payload = {"iss": trap.url, "issuer_did": f"did:web:127.0.0.1%3A{trap.server.getsockname()[1]}", "kind": HOSTILE}
    parts = [base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=") for one in (header, payload)]
    return ".".join([*parts, "AAAA"])


KEY = "--key-hex " + "ab" * 32
FILE_COMMANDS = [
    "receipt inspect receipt.json",
    "receipt inspect receipt.json --json",
    "receipt inspect receipt.json --html page.html",
    "receipt verify receipt.json",
    f"receipt verify receipt.json {KEY}",
    f"receipt verify receipt.json {KEY} --json",
    f"receipt verify receipt.json {KEY} --request receipt.json --path /x --response receipt.json",
    "receipt diff receipt.json receipt.json",
    "message verify message.http --public-key-hex " + "ab" * 32,
    "message explain message.http",
    "message explain message.http --json",
    "message sign message.http",
    "vectors check package",
    "vectors list --package package",
    "vectors run --package package -- cat",
    "vectors compare receipt.json",
    "vectors run --explained sent/evil.toml -- false",
    "audit verify audit.json --key-file key",
    "audit verify audit.json --key-file key --json",
    "run RAIL-402-01 --target rail=http://127.0.0.1:1 --timeout 1 --xfail sent/evil.toml --report-dir out",
    "run RAIL-402-01 --xfail receipt.json --target rail=http://127.0.0.1:1",
    "report show receipt.json",
    "report show nested.json",
    "receipt inspect nested.json",
    "vectors compare nested.json",
    "audit verify nested.json --key-file key",
    "message explain nested.json",
]


@pytest.mark.parametrize("line", FILE_COMMANDS)
def test_a_hostile_file_has_no_effect(line: str, trap: Trap) -> None:
    """What it says of keys, addresses, files and commands is shown at most."""
    (trap.folder / "receipt.json").write_text(json.dumps({"receipt": {"jws": jws(trap)}, "note": HOSTILE}))
    (trap.folder / "nested.json").write_text("[" * 100_000)
    (trap.folder / "message.http").write_bytes(
        b"GET /%1b HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ::error::x ##[error]\x1b[2J\r\n"
        b'Signature-Input: sig=("x-a");keyid="'
        + trap.url.encode()
        + b'";alg="ed25519"\r\nSignature: sig=:AAAA:\r\n\r\n'
    )
    entry = {"seq": 1, "at": 1, "actor": HOSTILE, "action": HOSTILE, "mac": "00", "prev": HOSTILE}
    (trap.folder / "audit.json").write_text(json.dumps({"entries": [entry], "head": {"seq": 1, "mac": HOSTILE}}))
    (trap.folder / "key").write_text("ab" * 32)
    package = trap.folder / "package"
    package.mkdir()
    (package / "link.json").symlink_to(trap.victim)
    files = {"../../etc/passwd": "00", "/etc/passwd": "00", "link.json": "00"}
    (package / "manifest.json").write_text(
        json.dumps({"format": "weldproof-vectors/1", "version": HOSTILE, "families": {}, "files": files})
    )
    trap.assert_nothing_happened(weldproof(*line.split()))


def test_a_payment_file_is_shown_as_text(trap: Trap) -> None:
    """The JSON of `pay --resume` holds no command of a build service, and its address is asked for nothing."""
    (trap.folder / "weldproof.toml").write_text(
        '[surfaces.rail]\nurl = "http://127.0.0.1:9"\n[claims]\nlanes = ["algorand"]\n'
        '[chains.algorand]\nnetwork = "algorand_testnet"\nalgod = "http://127.0.0.1:9"\n'
    )
    signed_members = {
        "payer": HOSTILE,
        "asset": HOSTILE,
        "held": 0,
        "tx_id": HOSTILE,
        "transaction": "00",
        "signed_at": 1,
    }
    record = {
        "state": "signed",
        "channel": "http",
        "url": f"{trap.url}/x",
        "body": {},
        "default_body": False,
        "path": HOSTILE,
        "role": HOSTILE,
        "lane": "algorand",
        "network": HOSTILE,
        "units": 1,
        "payee": HOSTILE,
        "reference": HOSTILE,
        "entry": {},
        "worth_until": 1,
        "last_answer": HOSTILE,
        "signed": {**signed_members, "proof": {"payment_reference": HOSTILE, "tx_id": HOSTILE}},
    }
    for url in (f"{trap.url}/x", "http://127.0.0.1:9/x"):
        path = trap.folder / "payment.json"
        path.write_text(json.dumps({**record, "url": url}))
        path.chmod(0o600)
        result = weldproof("pay", "--resume", path, "--wait", "0", "--json")
        assert json.loads(result.stdout)["payee"] == HOSTILE
        assert result.exit_code == PaidExit.ANSWER_MISSING
        trap.assert_nothing_happened(result)


def hostile_package(folder: Path, schema: dict[str, Any] | None = None, **members: Any) -> Path:
    """Copy one family of our package with members of its vectors replaced; its digests are right."""
    package = folder / "package"
    shutil.copytree(str(vectors.folder()), package, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    manifest = json.loads((package / "manifest.json").read_text())
    name = next(name for name in manifest["files"] if name.startswith("welds/"))
    document = json.loads((package / name).read_text())
    document["vectors"] = [{**one, **members} for one in document["vectors"]]
    (package / name).write_text(json.dumps(document))
    manifest["files"] = {name: hashlib.sha256((package / name).read_bytes()).hexdigest()}
    manifest["version"] = HOSTILE
    for family in manifest["families"].values():
        family["title"] = HOSTILE
    (package / "manifest.json").write_text(json.dumps(manifest))
    if schema is not None:
        (package / "schemas" / "vectors.schema.json").write_text(json.dumps(schema))
    return package


@pytest.mark.parametrize("members", [{"why": HOSTILE, "fault": HOSTILE}, {"id": HOSTILE, "kind": HOSTILE}, {"why": 5}])
@pytest.mark.parametrize(
    "line", ["list --package {}", "list --each --package {}", "list --json --package {}", "check {}", "check {} --json"]
)
def test_texts_of_a_package_are_shown_as_text(line: str, members: dict[str, Any], trap: Trap) -> None:
    """Titles, names and reasons of a package whose digests are right have no effect on a terminal."""
    package = hostile_package(trap.folder, **members)
    trap.assert_nothing_happened(weldproof("vectors", *line.format(package).split()))


@pytest.mark.parametrize("address", ["http://127.0.0.1:{port}/schema.json", "file://{victim}"])
def test_a_schema_of_a_package_reads_no_address(address: str, trap: Trap) -> None:
    """A reference in it leads to places in the schema itself only."""
    port = trap.server.getsockname()[1]
    package = hostile_package(trap.folder, {"$ref": address.format(port=port, victim=trap.victim)})
    result = weldproof("vectors", "check", package)
    trap.assert_nothing_happened(result)
    assert (result.exit_code, "no usable JSON Schema" in result.output) == (1, True)


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"properties": {"family": {"pattern": "("}}}, {"$ref": "#/no"}])
def test_a_schema_that_cannot_be_used_is_a_fault_of_its_package(schema: dict[str, Any], trap: Trap) -> None:
    """It is not a fault of the suite."""
    result = weldproof("vectors", "check", hostile_package(trap.folder, schema))
    assert (result.exit_code, "no usable JSON Schema" in result.output) == (1, True)


def test_a_pipe_in_a_package_is_not_waited_for(trap: Trap) -> None:
    """An unpacked archive may hold one."""
    package = hostile_package(trap.folder)
    (package / "schemas" / "manifest.schema.json").unlink()
    os.mkfifo(package / "schemas" / "manifest.schema.json")
    assert weldproof("vectors", "check", package).exit_code == 1


@pytest.mark.parametrize("name", ["../victim", "/etc/passwd", "a/../../victim", "link.json", "", "."])
def test_a_package_names_no_file_outside_it(name: str, trap: Trap) -> None:
    """Nor does a link in it lead out."""
    package = trap.folder / "package"
    package.mkdir()
    (package / "link.json").symlink_to(trap.victim)
    manifest = {"format": "weldproof-vectors/1", "version": "1", "families": {}, "files": {name: "00"}}
    (package / "manifest.json").write_text(json.dumps(manifest))
    result = weldproof("vectors", "check", package)
    assert result.exit_code == 1
    assert "is no name of a file in a package" in result.output or "leads out of the package" in result.output
