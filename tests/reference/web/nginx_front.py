"""A real nginx in front of services, as operators put one there: it filters paths and hands upgrades on."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from programs.nginx import nginx
from tests.reserved_port import reserved_port

# Upgrades are handed on as nginx's own documents have it for WebSockets; what is not for everybody is kept back.
_CONFIGURATION = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/log; {user}
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  map $http_upgrade $handed_on {{ default upgrade; '' ''; }}
  {servers}
}}
"""
_SERVER = """
  server {{
    listen 127.0.0.1:{port};
    location ~ ^/(internal|dashboard) {{ return 403 "kept back"; }}
    location / {{
      proxy_pass http://127.0.0.1:{behind};
      proxy_http_version 1.1;
      proxy_set_header Host $host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $handed_on;
    }}
  }}
"""
_BALANCED = """
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://workers; proxy_set_header Host $host; }}
  }}
"""


@contextmanager
def behind_nginx(folder: Path, services: Mapping[str, int]) -> Iterator[dict[str, tuple[str, int]]]:
    """Put one nginx in front of services until the block is left.

    Args:
        folder: Its own.
        services: Their ports, by name.

    Yields:
        Where each is reached through it.

    Raises:
        Missing: There is no nginx here and none could be got.
    """
    folder.mkdir(parents=True)
    with ExitStack() as exits:
        ports = {name: exits.enter_context(reserved_port()) for name in services}
        servers = "".join(_SERVER.format(port=ports[name], behind=services[name]) for name in services)
        with run_nginx(folder, servers, ports.values()):
            yield {name: ("127.0.0.1", port) for name, port in ports.items()}


@contextmanager
def balanced_by_nginx(folder: Path, workers: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Put one nginx in front of several workers of one service until the block is left.

    Args:
        folder: Its own.
        workers: The ports of the workers.

    Yields:
        The address at which they are reached through it.

    Raises:
        Missing: There is no nginx here and none could be got.
    """
    folder.mkdir(parents=True)
    servers = "".join(f" server 127.0.0.1:{port};" for port in workers)
    with reserved_port() as port:
        block = f"upstream workers {{{servers} }}" + _BALANCED.format(port=port)
        with run_nginx(folder, block, [port]):
            yield "127.0.0.1", port


@contextmanager
def run_nginx(folder: Path, servers: str, ports: Iterable[int]) -> Iterator[None]:
    """Run one nginx until the block is left.

    Args:
        folder: Its own, which exists.
        servers: What its `http` block contains.
        ports: Ports at which it listens.

    Raises:
        Missing: There is no nginx here and none could be got.
    """
    program = nginx()
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "conf").write_text(_CONFIGURATION.format(folder=folder, user=user, servers=servers), "utf-8")
    words = [str(program.path), "-p", str(folder), "-c", str(folder / "conf"), "-e", str(folder / "log")]
    process = subprocess.Popen(words)
    try:
        for port in ports:
            _await(port, process, folder / "log")
        yield
    finally:
        process.terminate()
        process.wait(60)


def _await(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 10).close()
        except ConnectionRefusedError:
            assert process.poll() is None, log.read_text("utf-8")
        else:
            return
