"""`weldproof pay` pays the address that it was given, or nothing: another host needs a yes of its own first."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.cli.pay.paid_address import PaidAddress
from conformance.cli.usage import UsageFault
from conformance.target import parse
from tests import prepared
from tests.conformance.served import serve

CALL = "/pay/v1/compliance/receipt"


def absent(*_: object) -> tuple[int, str]:
    """Answer that there is nothing."""
    return 404, "nothing"


def profile_of(url: str) -> str:
    """A profile with a rail and a body that is bound."""
    bodies = "[rail.bodies]\ncompliance-receipt = {a = 1}"
    return f'[surfaces.rail]\nurl = "{url}"\n[claims]\nsurfaces = ["rail"]\n{bodies}\n'


@pytest.mark.parametrize("path", [CALL, "/checkout/abc"])
def test_nothing_is_sent_to_another_host_unasked(path: str, tmp_path: Path) -> None:
    """Neither for a call nor for a page; the other host is named, and the option for scripts."""
    with serve(absent) as ours, serve(absent) as theirs:
        (tmp_path / "weldproof.toml").write_text(profile_of(ours.url))
        result = prepared.run("conformance", "pay", theirs.url + path, env=os.environ, cwd=tmp_path, timeout=600)
        assert (result.returncode, ours.calls, theirs.calls) == (1, [], []), result.stderr
        assert f"--allow-host {theirs.url.removeprefix('http://')}" in result.stderr


@pytest.mark.parametrize(("typed_bytes", "is_asked"), [(b"y\n", True), (b"\n", False), (b"no\n", False)])
def test_somebody_at_a_terminal_is_asked_about_another_host(typed_bytes: bytes, is_asked: bool, tmp_path: Path) -> None:
    """Only after a yes is it asked for anything."""
    with serve(absent) as ours, serve(absent) as theirs:
        (tmp_path / "weldproof.toml").write_text(profile_of(ours.url))
        master, slave = pty.openpty()
        words = [sys.executable, "-m", "conformance", "pay", theirs.url + CALL]
        with subprocess.Popen(words, stdin=slave, stderr=slave, stdout=subprocess.DEVNULL, cwd=tmp_path) as process:
            os.close(slave)
            output = b""
            while b"[y/N]: " not in output:
                output += os.read(master, 1000)
            assert theirs.calls == []
            os.write(master, typed_bytes)
            process.wait(600)
        os.close(master)
        assert b"is not a host of the profile" in output
        assert (bool(theirs.calls), ours.calls) == (is_asked, [])


@pytest.mark.parametrize(
    ("url", "is_same"),
    [
        ("http://rail.example/pay/v1/a", True),
        ("http://RAIL.example.:80/pay/v1/a?x=1", True),
        ("https://rail.example/pay/v1/a", False),
        ("http://rail.example:8402/pay/v1/a", False),
        ("http://rail.example.evil/pay/v1/a", False),
        ("http://evil/rail.example/pay/v1/a", False),
    ],
)
def test_a_host_is_the_profiles_by_scheme_name_and_port(url: str, is_same: bool) -> None:
    """A name in another place of the address is no host."""
    assert PaidAddress.of(url).is_of(parse(profile_of("http://rail.example"))) is is_same


def test_every_name_of_this_machine_is_one_host() -> None:
    """What `up` prints as 127.0.0.1 may be typed as localhost; another port is another host."""
    profile = parse(profile_of("http://127.0.0.1:8402"))
    assert PaidAddress.of("http://localhost:8402/pay/v1/a").is_of(profile)
    assert PaidAddress.of("http://[::1]:8402/pay/v1/a").is_of(profile)
    assert not PaidAddress.of("http://localhost:8403/pay/v1/a").is_of(profile)


@pytest.mark.parametrize("url", ["rail.example/pay", "ftp://rail.example/", "http://", "http://a@evil/", "http://[x/"])
def test_what_is_no_address_is_a_fault_of_usage(url: str) -> None:
    """So is a name before the host, which is easily taken for the host."""
    with pytest.raises(UsageFault):
        PaidAddress.of(url)


def test_another_rail_is_asked_without_this_ones_bindings() -> None:
    """What the operator bound belongs to one rail; that rail keeps its bindings and its prefix under every name."""
    profile = parse(profile_of("http://127.0.0.1:8402/prefix/"))
    own = PaidAddress.of("http://localhost:8402/prefix/pay/v1/a?x=1").rail(profile)
    assert (own.surfaces["rail"].url, own.rail) == ("http://localhost:8402/prefix", profile.rail)
    other_rail = PaidAddress.of("https://other.example/below/pay/v1/a?x=1").rail(profile)
    assert (other_rail.surfaces["rail"].url, other_rail.rail.bodies) == ("https://other.example/below", None)
    assert PaidAddress.of("https://other.example/x").rail(profile).surfaces["rail"].url == "https://other.example"
