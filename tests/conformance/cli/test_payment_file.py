"""A payment's file: private, whole, of one process at a time, and data where it comes from elsewhere."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance.cli import main
from conformance.cli.pay.payment_file import (
    Channel,
    PaymentFile,
    PaymentRecord,
    SignedMembers,
    State,
    create,
    open_payment,
    payments_folder,
)
from conformance.cli.private_files import FileInUse, read_private, write_private
from conformance.cli.usage import UsageFault
from tests.conformance.served import Served, serve

CALL = "/pay/v1/compliance/receipt"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return payments_folder()


@pytest.fixture
def rail() -> Iterator[Served]:
    """A server that knows nothing, and who called it."""
    with serve(lambda *_: (404, {})) as rail_server:
        yield rail_server


def record(url: str = "http://rail.example" + CALL, **changes: Any) -> PaymentRecord:
    """A payment that was signed."""
    proof = {"tx_id": "TX", "payment_reference": "1:token"}
    members: dict[str, Any] = {
        "state": State.SIGNED,
        "channel": Channel.HTTP,
        "url": url,
        "body": {"a": 1},
        "default_body": False,
        "path": CALL,
        "lane": "algorand",
        "network": "algorand_mainnet",
        "units": 50_000,
        "payee": "PAYEE",
        "reference": "1:token",
        "entry": {"asset": "31566704"},
        "worth_until": 2,
        "signed": SignedMembers(
            payer="P", asset="31566704", held=1, tx_id="TX", transaction="00ff", proof=proof, signed_at=1
        ),
    }
    return PaymentRecord(**{**members, **changes})


def test_a_file_is_private_and_is_read_as_it_was_written(data: Path) -> None:
    """Mode 0600 in a folder of mode 0700, and no draft is left in it."""
    file = create(record(), again=False)
    file.save(last_answer="503")
    file.close()
    [path] = data.iterdir()
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(data.stat().st_mode)) == (0o600, 0o700)
    payment_file = PaymentFile.open(path)
    assert payment_file.record == record(last_answer="503", label=file.record.label, made_at=file.record.made_at)
    payment_file.close()


def test_an_open_payment_is_found_by_its_request(data: Path) -> None:
    """By address and body, under each name of this machine; not by another query, body or path, nor when it is over."""
    url = "http://localhost:8402/pay/v1/x?a=1"
    create(record(url), again=False).close()
    for same_url in (url, "http://127.0.0.1:8402/pay/v1/x?a=1"):
        payment = open_payment(same_url, {"a": 1}, default_body=False)
        assert payment is not None
        payment.close()
    for other_url, body, default in (
        ("http://localhost:8402/pay/v1/x?a=2", {"a": 1}, False),
        ("http://localhost:8403/pay/v1/x?a=1", {"a": 1}, False),
        (url, {"a": 2}, False),
        (url, None, True),
    ):
        assert open_payment(other_url, body, default_body=default) is None
    [path] = data.iterdir()
    file = PaymentFile.open(path)
    file.save(state=State.SERVED)
    file.close()
    assert open_payment(url, {"a": 1}, default_body=False) is None


def test_one_process_works_on_it() -> None:
    """Through every replacement of the file, and until it is closed."""
    file = create(record(), again=False)
    for _ in range(3):
        with pytest.raises(FileInUse):
            PaymentFile.open(file.path)
        with pytest.raises(FileInUse):
            open_payment(file.record.url, {"a": 1}, default_body=False)
        file.save(last_answer="again")
    file.close()
    PaymentFile.open(file.path).close()
    with pytest.raises(FileInUse):
        create(record(), again=False)
    create(record(), again=True).close()


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there stays whole, and no draft is left."""
    path = tmp_path / "file"
    write_private(path, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_private(path, b"new")
    assert read_private(path) == b"old"
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["file"]


def test_an_offer_that_could_not_be_read_again_is_refused_before_anything_is_paid(data: Path) -> None:
    """A lone surrogate is JSON to one parser and none to another."""
    with pytest.raises(UsageFault, match="this file is not a payment"):
        create(record(entry={"text": "\ud800"}), again=False)
    assert list(data.iterdir()) == []


def resume(path: Path, rail: Served, *words: str) -> Result:
    """Go on with a file, under a profile with the rail and no node."""
    config = path.with_name("target.toml")
    config.write_text(f'[surfaces.rail]\nurl = "{rail.url}"\n[claims]\nsurfaces = ["rail"]\n')
    return CliRunner().invoke(main, ["pay", "--resume", str(path), "--config", str(config), *words])


def write_record(path: Path, payment: PaymentRecord, mode: int = 0o600, **changes: Any) -> Path:
    """Write a record, with members changed, as another program may."""
    path.write_text(json.dumps({**payment.model_dump(), **changes}))
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, rail: Served, mode: int) -> None:
    """It says which mode it has and what to do; nothing is sent."""
    result = resume(write_record(tmp_path / "file.json", record(rail.url + CALL), mode), rail)
    assert (result.exit_code, rail.calls) == (2, []), result.output
    assert f"mode {mode:04o}" in result.output
    assert "chmod 600" in result.output


def test_what_is_no_ordinary_file_is_refused(tmp_path: Path, rail: Served) -> None:
    """A link, a pipe, a folder, nothing and a file without an end: each in one sentence, and no wait."""
    target = write_record(tmp_path / "file.json", record(rail.url + CALL))
    (tmp_path / "link").symlink_to(target)
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir()
    (tmp_path / "long").write_bytes(b" " * (4 * 1024 * 1024 + 1))
    (tmp_path / "long").chmod(0o600)
    for name in ("link", "pipe", "folder", "absent", "long"):
        result = resume(tmp_path / name, rail)
        assert (result.exit_code, rail.calls) == (2, []), (name, result.output)


@pytest.mark.parametrize(
    "changes",
    [
        {"weldproof_payment": 2},
        {"further": 1},
        {"url": 7},
        {"url": "file:///etc/passwd"},
        {"url": "http://name@rail.example/"},
        {"lane": "nowhere"},
        {"state": "other"},
        {"signed": None},
        {"reference": "another"},
        {"label": "../x"},
        {"units": -1},
    ],
)
def test_a_malformed_file_is_refused(tmp_path: Path, rail: Served, changes: dict[str, Any]) -> None:
    """Each in one sentence; nothing is sent."""
    result = resume(write_record(tmp_path / "file.json", record(rail.url + CALL), **changes), rail)
    assert (result.exit_code, rail.calls) == (2, []), result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"weldproof_payment": 1}'])
def test_what_is_no_record_is_refused(tmp_path: Path, rail: Served, text: str) -> None:
    """Whatever it is, it ends in one sentence."""
    (tmp_path / "file.json").write_text(text)
    (tmp_path / "file.json").chmod(0o600)
    result = resume(tmp_path / "file.json", rail)
    assert (result.exit_code, rail.calls, "this file is not a payment" in result.output) == (2, [], True), result.output


@pytest.mark.parametrize("channel", list(Channel))
def test_a_file_that_names_another_host_sends_nothing_there(tmp_path: Path, rail: Served, channel: Channel) -> None:
    """Its address is held against the profile as one that is typed: it needs a yes of the user's own."""
    path = "/checkout/abcdefgh" if channel is Channel.CHECKOUT else CALL
    with serve(lambda *_: (404, {})) as elsewhere:
        result = resume(write_record(tmp_path / "file.json", record(elsewhere.url + path, channel=channel)), rail)
        host = elsewhere.url.removeprefix("http://")
        assert (elsewhere.calls, rail.calls) == ([], []), result.output
        assert f"{host} is not a host of the profile" in result.output
        assert f"--allow-host {host}" in result.output


def test_a_file_alone_never_pays(tmp_path: Path, rail: Served) -> None:
    """One that says that nothing was signed yet ends the command, whatever offer it holds; no option changes that."""
    payment = record(rail.url + CALL, state=State.PREPARED, signed=None)
    result = resume(write_record(tmp_path / "file.json", payment), rail)
    assert (result.exit_code, rail.calls) == (1, []), result.output
    assert "--resume starts no payment" in result.output
    for words in (("--again",), ("--lane", "base"), ("--body", "{}"), ("--a2a",), (rail.url + CALL,)):
        result = resume(tmp_path / "file.json", rail, *words)
        assert (result.exit_code, rail.calls) == (2, []), result.output


def test_a_page_is_not_ordered_over_a2a(tmp_path: Path, rail: Served) -> None:
    """A checkout page is paid by a transfer, which is said before anything is sent."""
    config = tmp_path / "target.toml"
    config.write_text(f'[surfaces.rail]\nurl = "{rail.url}"\n')
    words = ["pay", f"{rail.url}/checkout/abcdefgh", "--a2a", "--config", str(config)]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, rail.calls) == (2, []), result.output


def test_a_file_without_a_node_of_its_network_is_no_payment_on_another(tmp_path: Path, rail: Served) -> None:
    """The profile says which nodes there are; the file cannot name one."""
    result = resume(write_record(tmp_path / "file.json", record(rail.url + CALL)), rail)
    assert (result.exit_code, rail.calls) == (5, []), result.output
    assert "the profile has no node of it: [chains.algorand]" in result.output


def test_text_of_a_file_shows_nothing_that_a_terminal_obeys(tmp_path: Path, rail: Served) -> None:
    """What a stranger wrote is shown visible and on one line."""
    payment = record(rail.url + CALL, payee="\x1b[2J\nNothing to see", network="\x1b]0;x")
    result = resume(write_record(tmp_path / "file.json", payment), rail)
    assert "\x1b" not in result.output
    assert "\\x1b[2J Nothing to see" in result.output


def test_without_a_place_for_the_file_nothing_is_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data folder that is a file is named, with the variable that sets another."""
    (tmp_path / "plain").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "plain"))
    with pytest.raises(UsageFault, match=r"Set XDG_DATA_HOME to a writable folder\. Nothing was paid"):
        create(record(), again=False)


def test_on_a_full_disk_nothing_is_paid_and_it_is_said(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of a payment that cannot be written is the end of it, before anything moves."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageFault, match=r"No space left on device; .* Nothing was paid"):
        create(record(), again=False)
    assert list(data.iterdir()) == []


def test_a_relative_data_folder_is_ignored() -> None:
    """As the standard of these folders says; the home folder's is used."""
    assert payments_folder({"XDG_DATA_HOME": "data"}) == Path.home() / ".local/share/weldproof/payments"
    assert payments_folder({"XDG_DATA_HOME": "/d"}) == Path("/d/weldproof/payments")
