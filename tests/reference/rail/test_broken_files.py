"""Files that break or vanish while the rail runs, and when it starts: payers are not affected (P-KY-01, P-ST-06)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import prepared
from tests.reference.rail.rail_stack import Payer, Rail, proof_of


def keys_of(rail: Rail) -> Any:
    """Return the published keys."""
    return rail.http.get("/.well-known/jwks.json").json()


def health_of(rail: Rail) -> dict[str, Any]:
    """Return the health document, which is always 200."""
    answer = rail.http.get("/health")
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_the_last_good_files_serve_on(
    own_rail: Callable[..., Rail], payer: Payer, database: dict[str, str], tmp_path: Path
) -> None:
    """Emptied, filled with something else or gone: payments are served, with the same key, and health tells."""
    trusted = tmp_path / "trusted.json"
    trusted.write_text('{"keys": []}', "ascii")
    rail = own_rail(WP_RAIL_TRUSTED_JWKS=str(trusted), **database)
    published = keys_of(rail)
    key_file = rail.folder / "data" / "signing_key.pem"
    whole = {trusted: trusted.read_bytes(), key_file: key_file.read_bytes()}
    assert health_of(rail)["status"] == "ok"

    def spoil(path: Path, text: bytes | None) -> None:
        path.unlink() if text is None else path.write_bytes(text)

    for path, good in whole.items():
        for text in (b"", b"no such thing", None):
            spoil(path, text)
            entry = rail.quote()
            task = rail.present(proof_of(payer.pay(entry), entry))
            assert task.status_code == 200, task.text
            document = health_of(rail)
            assert (document["status"], [str(path) in fault for fault in document["faults"]]) == ("degraded", [True])
            assert keys_of(rail) == published
            path.write_bytes(good)
            entry = rail.quote()
            assert rail.present(proof_of(payer.pay(entry), entry)).status_code == 200
            assert health_of(rail)["status"] == "ok"


@pytest.mark.parametrize(
    ("name", "setting"),
    [("signing_key.pem", "WP_RAIL_SIGNING_KEY_FILE"), ("token_secret", "WP_RAIL_TOKEN_SECRET_FILE")],
)
def test_a_key_that_vanished_is_not_made_anew(
    own_rail: Callable[..., Rail], payer: Payer, database: dict[str, str], name: str, setting: str
) -> None:
    """The start is refused with a line that says what to do; with the file back, what was quoted before is served."""
    rail = own_rail(**database)
    entry, second_entry = rail.quote(), keys_of(rail)
    proof = proof_of(payer.pay(entry), entry)
    rail.stop()
    path = rail.folder / "data" / name
    kept = path.rename(path.with_suffix(".kept"))
    outcome = prepared.run("reference.rail", env=rail.environment(), pass_fds=[rail.socket.fileno()])
    line = outcome.stderr.strip().splitlines()[-1]
    assert (outcome.returncode, path.exists()) == (2, False), outcome.stderr
    assert line.startswith(f"{setting}: {path} is gone"), line
    assert "Put the file back" in line
    kept.rename(path)
    rail.start()
    assert keys_of(rail) == second_entry
    assert rail.present(proof).status_code == 200


def test_trusted_keys_that_are_none_stop_the_start(own_rail: Callable[..., Rail], tmp_path: Path) -> None:
    """Exit 2 with a line that names the setting: not the first payment finds out."""
    rail = own_rail()
    rail.stop()
    for text in ("", "[]", '{"keys": {}}'):
        (tmp_path / "trusted.json").write_text(text, "ascii")
        environment = rail.environment() | {"WP_RAIL_TRUSTED_JWKS": str(tmp_path / "trusted.json")}
        outcome = prepared.run("reference.rail", env=environment, pass_fds=[rail.socket.fileno()])
        assert outcome.returncode == 2, outcome.stderr
        assert "WP_RAIL_TRUSTED_JWKS" in outcome.stderr.strip().splitlines()[-1]
    rail.start()
