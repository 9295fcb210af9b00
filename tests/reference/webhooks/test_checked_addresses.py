"""Connections go to the addresses that were checked, under the name of the destination (P-WH-10)."""

from __future__ import annotations

import datetime as dt
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from reference.protocol.destination_address import BadDestination
from reference.protocol.service_word import ServiceWord
from reference.protocol.webhook_delivery import Outcome
from reference.web.destination_dns import AddressCheck
from reference.webhooks.checked_session import open_session
from reference.webhooks.sender import Sender
from tests.reference.webhooks.conftest import Desk
from tests.reference.webhooks.receiver import Receiver

NAME = "hooks.example.test"


@dataclass
class Names:
    """A resolver that answers by a script; the last answer stands."""

    answers: list[list[str]]
    asked: list[tuple[str, int]] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Return the next answer."""
        self.asked.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def no_such_name(host: str, port: int) -> Sequence[str]:
    """Fail as the system does."""
    raise OSError(f"{host}:{port} is not known")


@pytest.mark.parametrize(
    "answers",
    [
        *(["127.0.0.1"], ["10.0.0.1"], ["169.254.169.254"], ["100.64.0.1"], ["0.0.0.0"], ["224.0.0.1"]),  # noqa: S104
        *(["::1"], ["::ffff:127.0.0.1"], ["64:ff9b::7f00:1"], ["2002:7f00:1::1"], ["2001::1"], ["fe80::1%eth0"]),
        *(["1.1.1.1", "10.0.0.1"], ["2606:4700::1", "::1"], []),
    ],
)
async def test_a_name_with_an_address_that_is_not_public_is_refused(answers: list[str]) -> None:
    """One of several is enough."""
    with pytest.raises(BadDestination):
        await AddressCheck(allow_loopback=False, lookup=Names([answers])).check_url(f"https://{NAME}/")


async def test_a_public_name_passes_with_all_of_its_addresses() -> None:
    """It is asked for at its port, and a literal is not asked for at all."""
    names = Names([["1.1.1.1", "2606:4700:4700::1111"]])
    check = AddressCheck(allow_loopback=False, lookup=names)
    found = await check.check_url(f"https://{NAME}:8443/x")
    assert [str(one) for one in found] == ["1.1.1.1", "2606:4700:4700::1111"]
    assert names.asked == [(NAME, 8443)]
    assert [str(one) for one in await check.check_url("https://[2606:4700:4700::1111]/")] == ["2606:4700:4700::1111"]
    assert len(names.asked) == 1


async def test_a_name_that_nobody_knows_is_refused() -> None:
    """And so is what the system reads as an address in an old spelling, by the address that it stands for."""
    with pytest.raises(BadDestination):
        await AddressCheck(allow_loopback=False, lookup=no_such_name).check_url(f"https://{NAME}/")
    for spelling in ("2130706433", "0x7f.1", "127.1", "0177.0.0.1", "localhost"):
        with pytest.raises(BadDestination):
            await AddressCheck(allow_loopback=False).check_url(f"https://{spelling}/")


async def send_checked(desk: Desk, check: AddressCheck, url: str, trusted: ssl.SSLContext | None = None) -> Outcome:
    """Make one attempt and return what came of it."""
    session = await desk.exits.enter_async_context(open_session(ServiceWord(), check, trusted))
    sender = Sender(session, check, desk.clock, ServiceWord(), seconds=5, with_v2=False)
    return (await sender.send(url, "weldw_x", b"{}")).outcome


async def test_a_name_that_has_moved_to_a_private_address_is_refused_at_the_attempt(
    desk: Desk, receiver: Receiver
) -> None:
    """It passed when it was configured; nothing is connected to afterwards."""
    names = Names([["1.1.1.1"], ["127.0.0.1"]])
    check = AddressCheck(allow_loopback=False, lookup=names)
    url = f"https://{NAME}:{receiver.port}/"
    await check.check_url(url)
    assert await send_checked(desk, check, url) is Outcome.ADDRESS
    assert not receiver.got


async def test_a_name_that_moves_between_check_and_connection_is_refused(desk: Desk, receiver: Receiver) -> None:
    """The connection's own lookup is judged too, so that the name cannot be rebound in between."""
    names = Names([["1.1.1.1"], ["127.0.0.1"]])
    check = AddressCheck(allow_loopback=False, lookup=names)
    assert await send_checked(desk, check, f"https://{NAME}:{receiver.port}/") is Outcome.ADDRESS
    assert len(names.asked) == 2
    assert not receiver.got


async def test_a_literal_address_is_judged_at_the_attempt_too(desk: Desk, receiver: Receiver) -> None:
    """No resolver is asked about it, and still no connection is made."""
    check = AddressCheck(allow_loopback=False)
    for url in (f"https://127.0.0.1:{receiver.port}/", f"https://[::ffff:127.0.0.1]:{receiver.port}/", receiver.url):
        assert await send_checked(desk, check, url) is Outcome.ADDRESS
    assert not receiver.got


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return a server's side with a certificate for a name, and a client's side that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / f"{name}.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    return server, ssl.create_default_context(cafile=str(pem))


async def test_name_certificate_and_host_are_the_destinations_own(desk: Desk, tmp_path: Path) -> None:
    """Connected to by its address, the receiver is asked for by name in SNI and Host, and must prove that name."""
    server, trusted_keys_file = certificate(tmp_path, NAME)
    calls: list[str | None] = []
    server.sni_callback = lambda _, name, __: calls.append(name)
    receiver = await Receiver().open(server)
    check = AddressCheck(allow_loopback=True, lookup=Names([["127.0.0.1"]]))
    assert await send_checked(desk, check, f"https://{NAME}:{receiver.port}/h", trusted_keys_file) is Outcome.DELIVERED
    assert calls == [NAME]
    assert receiver.got[0].headers["Host"] == f"{NAME}:{receiver.port}"
    other_url = f"https://other.example.test:{receiver.port}/h"
    assert await send_checked(desk, check, other_url, trusted_keys_file) is Outcome.CONNECTION
    assert await send_checked(desk, check, f"https://{NAME}:{receiver.port}/h") is Outcome.CONNECTION  # not trusted
    assert len(receiver.got) == 1
    await receiver.close()
