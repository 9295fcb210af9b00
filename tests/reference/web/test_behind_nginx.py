"""What gets past a proxy that keeps paths back: nothing. A real nginx, real services, raw bytes.

nginx is the machine's, or that of PyPI in the project's cache (`programs.nginx`); without either the tests fail and say
what to install.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import h2.config
import h2.connection
import h2.events
import pytest

from programs.missing import Missing
from tests.reference.web.five_services import SERVICES, five_services, send_bytes
from tests.reference.web.nginx_front import behind_nginx
from tests.reference.web.test_framing import CHUNKED, H2C, HOST, JSON, WEBSOCKET

Addresses = Mapping[str, tuple[str, int]]
# The gateway's; the others have nothing there.
KEPT_BACK = b"/internal/tenants"


@pytest.fixture(scope="module")
def fronts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """Where each service is reached through nginx."""
    folder = tmp_path_factory.mktemp("services")
    with five_services(folder) as running:
        ports = {name: worker.socket.getsockname()[1] for name, worker in running.items()}
        try:
            with behind_nginx(folder / "nginx", ports) as reached:
                yield reached
        except Missing as missing:
            pytest.fail(str(missing))


class Smuggler:
    """A client that speaks HTTP/2 after an upgrade, and asks there for what is kept back."""

    def __init__(self) -> None:
        """Write down what is sent."""
        self._connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self._connection.initiate_upgrade_connection()
        fields = {":method": "GET", ":scheme": "http", ":authority": "a.example", ":path": KEPT_BACK.decode()}
        self._connection.send_headers(3, list(fields.items()), end_stream=True)
        self.sent = self._connection.data_to_send()

    def answers(self, raw: bytes) -> list[int | None]:
        """Return the streams that were answered, if the bytes hold a change to HTTP/2 at all."""
        head, _, rest = raw.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101"):
            return []
        events = self._connection.receive_data(rest)
        return [event.stream_id for event in events if isinstance(event, h2.events.ResponseReceived)]


@pytest.mark.parametrize("service", SERVICES)
def test_no_change_of_protocol_gets_past_the_filter(fronts: Addresses, service: str) -> None:
    """The path is kept back; HTTP/2 spoken after an upgrade of another call does not reach it either."""
    address = fronts[service]
    assert (
        send_bytes(address, b"GET " + KEPT_BACK + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n").status == 403
    )
    upgrade = H2C.replace(b", close", b"")
    smuggler = Smuggler()
    answer = send_bytes(address, b"GET /health HTTP/1.1\r\n" + HOST + upgrade + b"\r\n" + smuggler.sent)

    assert smuggler.answers(answer.raw) == []
    assert answer.status == 200, answer.raw


@pytest.mark.parametrize("service", SERVICES)
def test_a_websocket_is_a_plain_call(fronts: Addresses, service: str) -> None:
    """No service has one: the handshake is answered as the call that it also is."""
    answer = send_bytes(fronts[service], b"GET /health HTTP/1.1\r\n" + HOST + WEBSOCKET + b"\r\n")

    assert (answer.status, answer.count) == (200, 1), answer.raw


@pytest.mark.parametrize("service", SERVICES)
def test_no_call_hides_in_the_body_of_another(fronts: Addresses, service: str) -> None:
    """With two lengths: whichever nginx goes by, the call it hides is not answered."""
    hidden_call = b"GET " + KEPT_BACK + b" HTTP/1.1\r\n" + HOST + b"\r\n"
    head = b"POST /a2a HTTP/1.1\r\n" + HOST + JSON + b"Connection: close\r\n"
    for lengths, body in (
        (b"Content-Length: %d\r\n" % (5 + len(hidden_call)) + CHUNKED, b"0\r\n\r\n" + hidden_call),
        (b"Content-Length: 4\r\n" + CHUNKED, b"%x\r\n" % len(hidden_call) + hidden_call + b"\r\n0\r\n\r\n"),
    ):
        answer = send_bytes(fronts[service], head + lengths + b"\r\n" + body)

        assert (answer.status, answer.count) == (400, 1), answer.raw


@pytest.mark.parametrize("service", SERVICES)
def test_an_absolute_target_reaches_its_path(fronts: Addresses, service: str) -> None:
    """And no other: a target that is kept back is kept back in this form too."""
    call = b"GET http://a.example%s HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"

    assert send_bytes(fronts[service], call % b"/health").status == 200
    assert send_bytes(fronts[service], call % KEPT_BACK).status == 403
