"""nginx in front of the workers of a stack: it takes the worker of each request in turn."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from localnet.processes import Child
from programs.nginx import nginx

# Every path is passed on, also those that the configuration of docs/deployment.md keeps from the public: the suite is
# the operator here, too. A body of any size reaches the service, whose limit the suite judges.
_CONFIGURATION = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/log; {user}
events {{ worker_connections 1024; }}
http {{
  access_log off; client_max_body_size 0; large_client_header_buffers 4 16k;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  proxy_http_version 1.1; proxy_set_header Connection "";
  proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;
  proxy_set_header X-Request-Id $request_id; proxy_read_timeout 100s;
  {servers}
}}
"""
_SERVER = """
  upstream {name} {{ {workers} }}
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://{name}; }} }}
"""


async def start_balancer(
    folder: Path, services: Mapping[str, socket.socket], workers: Mapping[str, Sequence[socket.socket]]
) -> Child:
    """Start one nginx for several services.

    Args:
        folder: Its own.
        services: The listening socket of each service by name, which nginx takes over.
        workers: The listening sockets of the workers of each service.

    Raises:
        Missing: nginx is not installed and could not be installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    blocks = [
        _SERVER.format(
            name=name,
            port=listener.getsockname()[1],
            workers=" ".join(f"server 127.0.0.1:{one.getsockname()[1]} max_fails=0;" for one in workers[name]),
        )
        for name, listener in services.items()
    ]
    user = "user root;" if os.geteuid() == 0 else ""
    text = _CONFIGURATION.format(folder=folder, user=user, servers="".join(blocks))
    (folder / "nginx.conf").write_text(text, "utf-8")
    words = [str(nginx().path), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "log")]
    # nginx takes over the sockets whose numbers are in this variable, as in its own upgrades. So the ports of a stack
    # are reserved from the start.
    inherited = "".join(f"{one.fileno()};" for one in services.values())
    environment = {**os.environ, "NGINX": inherited}
    sockets = list(services.values())
    return await Child.start_program("nginx", words, log=folder / "output", environment=environment, sockets=sockets)
