"""Where a service says that it is (P-AD-03)."""

from __future__ import annotations

import socket

import pytest

from reference.web.control_plane_link.surface_serving import own_address
from reference.web.settings import Misconfigured


def test_its_bind_and_port() -> None:
    """Two variables are enough: the address is that of the socket."""
    assert own_address("127.0.0.1", 8095, None, is_asked=True) == "http://127.0.0.1:8095"
    assert own_address("::1", 8095, None, is_asked=True) == "http://[::1]:8095"
    assert own_address("addon.internal", 80, None, is_asked=True) == "http://addon.internal:80"


def test_a_socket_that_was_handed_down() -> None:
    """Its own address counts, and it stays open."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert own_address("0.0.0.0", 8095, listener.fileno(), is_asked=True) == f"http://127.0.0.1:{port}"  # noqa: S104
        assert listener.getsockname()[1] == port


def test_a_port_that_nobody_knows() -> None:
    """With port 0 the settings must name the address, if there is a hub."""
    with pytest.raises(Misconfigured, match="S2_HUB_SELF_URL"):
        own_address("127.0.0.1", 0, None, is_asked=True)
    assert own_address("127.0.0.1", 0, None, is_asked=False) == "http://127.0.0.1:0"
