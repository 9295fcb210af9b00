"""First process inside a sandbox (`python -m conformance.processes.sandbox_init`, started by `unshare`).

Reads one JSON line with the command and the ports to relay. Prints each called destination once, as a JSON line.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_RTM_NEWROUTE, _REQUEST = 24, 0x1 | 0x4 | 0x400 | 0x200  # request, acknowledged, create, exclusive
_TABLE_LOCAL, _BY_BOOT, _SCOPE_HOST, _TYPE_LOCAL, _OUTPUT = 255, 3, 254, 2, 4
_BIND, _RECURSIVE = 0x1000, 0x4000
_ALL_PROTOCOLS = 0x0003
_IPV4, _IPV6, _TCP, _UDP = 0x0800, 0x86DD, 6, 17
_CHUNK = 65_536
_END_SECONDS = 5.0


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        name = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(one, _SIOCGIFFLAGS, name))[1]
        fcntl.ioctl(one, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def _own_every_address(family: int) -> None:
    """Make all addresses of a family local, like `ip route add local default dev lo`."""
    # With this route, a packet to any address goes to the loopback device: it can be recorded there, and leaves no
    # machine.
    index = socket.if_nametoindex("lo")
    route = struct.pack("BBBBBBBBI", family, 0, 0, 0, _TABLE_LOCAL, _BY_BOOT, _SCOPE_HOST, _TYPE_LOCAL, 0)
    route += struct.pack("HHi", 8, _OUTPUT, index)
    message = struct.pack("IHHII", 16 + len(route), _RTM_NEWROUTE, _REQUEST, 1, 0) + route
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as one:
        one.send(message)
        (error,) = struct.unpack_from("i", one.recv(_CHUNK), 16)
    if error:
        raise OSError(-error, "no route to everywhere")


def _enter_root(folder: str) -> None:
    """Change to a root directory equal to this one, except that `/app` is a folder from outside."""
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source: str, target: Path, kind: str | None, flags: int) -> None:
        words = (source.encode(), str(target).encode(), kind.encode() if kind else None)
        if libc.mount(*words, ctypes.c_ulong(flags), None):
            raise OSError(ctypes.get_errno(), f"cannot mount at {target}")

    root = Path(folder).with_name("root")
    root.mkdir()
    mount("tmpfs", root, "tmpfs", 0)
    for entry in sorted(Path("/").iterdir()):
        place = root / entry.name
        if entry.is_symlink():
            place.symlink_to(entry.readlink())
        elif entry.name == "app":
            continue
        else:
            place.mkdir() if entry.is_dir() else place.touch()
            mount(str(entry), place, None, _BIND | _RECURSIVE)
    (root / "app").mkdir()
    mount(folder, root / "app", None, _BIND)
    work_folder = Path.cwd()
    os.chroot(root)
    os.chdir(work_folder)


def _read_destination(packet: bytes) -> tuple[str, str, int, str] | None:
    """Return protocol, address, port and queried name of a packet that begins a call; None for any other."""
    (kind,) = struct.unpack_from(">H", packet, 12)
    if kind == _IPV4:
        begin, protocol = 14 + 4 * (packet[14] & 0x0F), packet[23]
        address = socket.inet_ntop(socket.AF_INET, packet[30:34])
    elif kind == _IPV6:
        begin, protocol = 54, packet[20]
        address = socket.inet_ntop(socket.AF_INET6, packet[38:54])
    else:
        return None
    if protocol == _TCP:
        _, port = struct.unpack_from(">HH", packet, begin)
        opening = packet[begin + 13] & 0x12 == 0x02
        return ("tcp", address, port, "") if opening else None
    if protocol == _UDP:
        _, port = struct.unpack_from(">HH", packet, begin)
        return "udp", address, port, _asked_name(packet[begin + 8 :]) if port == 53 else ""
    return None


def _asked_name(query: bytes) -> str:
    """Return the name of a DNS query's first question."""
    labels, at = [], 12
    while at < len(query) and 0 < query[at] < 64:
        labels.append(query[at + 1 : at + 1 + query[at]].decode("latin-1"))
        at += 1 + query[at]
    return ".".join(labels).lower()


class _PacketWatch:
    """Reporter of called destinations, each once."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str, int, str]] = set()
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
        self._socket.bind(("lo", 0))
        self._socket.setblocking(False)

    def open(self) -> None:
        asyncio.get_running_loop().add_reader(self._socket, self._read)

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                packet = self._socket.recv(_CHUNK)
                with contextlib.suppress(struct.error, IndexError, ValueError):
                    destination = _read_destination(packet)
                    if destination is not None and destination not in self._told:
                        self._told.add(destination)
                        _report(called=destination)


def _report(**members: Any) -> None:
    sys.stdout.write(json.dumps(members) + "\n")
    sys.stdout.flush()


async def _pipe(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await source.read(_CHUNK):
            sink.write(chunk)
            await sink.drain()
    sink.close()


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: Any) -> None:
    """Carry bytes both ways between an accepted connection and the one that `connection` opens."""
    try:
        there_reader, there_writer = await connection
    except OSError:
        writer.close()
        return
    await asyncio.gather(_pipe(reader, there_writer), _pipe(there_reader, writer))


async def _start_relays(settings: Mapping[str, Any]) -> None:
    for port, path in settings["inward"].items():

        async def inward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int = int(port)) -> None:
            await relay(reader, writer, asyncio.open_connection("127.0.0.1", port))

        await asyncio.start_unix_server(inward, path)
    for port, path in settings["outward"].items():

        async def outward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str = path) -> None:
            await relay(reader, writer, asyncio.open_unix_connection(path))

        await asyncio.start_server(outward, "127.0.0.1", int(port))


async def _run_program(settings: Mapping[str, Any], lines: asyncio.StreamReader) -> None:
    watch = _PacketWatch()
    watch.open()
    await _start_relays(settings)
    with Path(settings["words"]).open("wb") as log:  # noqa: ASYNC230 - one small file, before anything runs
        process = await asyncio.create_subprocess_exec(
            *settings["command"],
            env=settings["environment"],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    _report(started=process.pid)
    # The end of the standard input means that the suite has ended, however that happened: then the program ends, too.
    ends = [asyncio.create_task(lines.read()), asyncio.create_task(process.wait())]
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    if process.returncode is None:
        process.terminate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    _report(ended=await process.wait())
    for task in ends:
        task.cancel()


async def _main() -> None:
    lines = asyncio.StreamReader(limit=2**22)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    settings = json.loads(await lines.readline())
    _raise_loopback()
    _own_every_address(socket.AF_INET)
    # A machine without IPv6 has no such addresses.
    with contextlib.suppress(OSError):
        _own_every_address(socket.AF_INET6)
    if settings["app"] is not None:
        _enter_root(settings["app"])
    await _run_program(settings, lines)


if __name__ == "__main__":
    asyncio.run(_main())
