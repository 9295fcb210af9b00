"""Prepared services: each is a separate process, for any client and after any end of the client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from localnet.prepared.service import Prepared, start_fork_server
from localnet.processes import Child, ChildFault, listening_socket

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="services are forked on Linux only")
SERVICE = ("sim.base", "--port", "0", "--block-seconds", "60")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder whose path is short enough for the address of a socket, wherever the tests run."""
    with tempfile.TemporaryDirectory(prefix="weldproof-", dir="/tmp") as folder:
        yield Path(folder)


@asynccontextmanager
async def prepare_fork(folder: Path) -> AsyncIterator[Prepared]:
    async with start_fork_server(folder) as fork_server:
        assert fork_server is not None
        yield fork_server


async def start_command(
    fork_server: Prepared, *words: str, environment: Mapping[str, str] | None = None
) -> asyncio.subprocess.Process:
    """Start what the target profile's command of a service starts."""
    pipe = asyncio.subprocess.PIPE
    command = [*fork_server.command(words[0]), *words[1:]]
    return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe, env=environment)


async def ready(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    ready_line: dict[str, str] = json.loads(await process.stdout.readline())
    return ready_line["rpc"]


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def answers(url: str) -> bool:
    host, _, port = url.removeprefix("http://").rpartition(":")
    try:
        _, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        return False
    writer.close()
    return True


async def wait_until_gone(url: str) -> None:
    while await answers(url):  # noqa: ASYNC110 - another process ends
        await asyncio.sleep(0.01)


async def test_services_are_processes_with_a_session_and_an_environment_of_their_own(tmp_path: Path) -> None:
    """Two of them have one parent, which is not the stack; each leads its session and logs to its own file."""
    async with prepare_fork(tmp_path) as fork_server:
        children = [
            await Child.start("it", SERVICE, log=tmp_path / name, fork_server=fork_server) for name in ("one", "two")
        ]
        for child in children:
            await child.ready_line()
        parents = {parent_of(child.pid) for child in children}
        assert len(parents) == 1
        assert os.getpid() not in parents
        assert [os.getsid(child.pid) for child in children] == [child.pid for child in children]
        await asyncio.gather(*(child.stop() for child in children))
        assert not any(child.is_running for child in children)


async def test_a_variant_is_forked_and_breaks_nobody_else(tmp_path: Path) -> None:
    """What it changes is in place before the service's modules are imported, of which others have their own."""
    mutant_name = ("reference.variants.mutants", "agent-card-nameless")
    has_name: list[bool] = []
    async with prepare_fork(tmp_path) as fork_server, aiohttp.ClientSession() as session:
        parents: set[int] = set()
        for before in ((), mutant_name, ()):
            with listening_socket("127.0.0.1", 0) as listener:
                environment = {**os.environ, "WP_MODE": "test", "WP_AGENT_FD": str(listener.fileno())}
                words = [*before, "reference.agent"]
                child = await Child.start(
                    "it",
                    words,
                    log=tmp_path / "said",
                    environment=environment,
                    sockets=[listener],
                    fork_server=fork_server,
                )
                parents.add(parent_of(child.pid))
                url = f"http://127.0.0.1:{listener.getsockname()[1]}/.well-known/agent-card.json"
                async with session.get(url) as answer:
                    has_name.append("name" in await answer.json())
            await child.stop()
    assert has_name == [True, False, True]
    assert len(parents) == 1
    assert os.getpid() not in parents


async def test_a_service_that_cannot_start_says_why_in_its_log(tmp_path: Path) -> None:
    """Its words and its exit status are those of a process without a fork."""
    async with prepare_fork(tmp_path) as fork_server:
        child = await Child.start("it", ["sim.base", "--nonsense"], log=tmp_path / "said", fork_server=fork_server)
        with pytest.raises(ChildFault, match="No such option"):
            await child.ready_line()
        assert await child.wait_for_end() == 2


async def test_what_stands_in_for_a_service_ends_as_it_does(tmp_path: Path) -> None:
    """A signal is passed on and the service's exit status is handed back, with what it wrote."""
    async with prepare_fork(tmp_path) as fork_server:
        process = await start_command(fork_server, *SERVICE)
        url = await ready(process)
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
        assert not await answers(url)
        refused_process = await start_command(fork_server, "sim.base", "--nonsense")
        _, error_text = await refused_process.communicate()
        assert refused_process.returncode == 2
        assert b"No such option" in error_text


async def test_a_killed_stand_in_takes_its_service_with_it(tmp_path: Path) -> None:
    """No process listens at the port any more, as after a kill of the service itself."""
    async with prepare_fork(tmp_path) as fork_server:
        process = await start_command(fork_server, *SERVICE)
        url = await ready(process)
        process.kill()
        await process.wait()
        await wait_until_gone(url)


async def test_services_that_end_and_start_at_once_are_not_mixed_up(tmp_path: Path) -> None:
    """While some are killed others start, and each of those answers."""
    async with prepare_fork(tmp_path) as fork_server:
        for _ in range(3):
            before = [await start_command(fork_server, *SERVICE) for _ in range(6)]
            await asyncio.gather(*map(ready, before))
            for process in before:
                process.kill()
            after = await asyncio.gather(*(start_command(fork_server, *SERVICE) for _ in range(6)))
            urls = await asyncio.gather(*map(ready, after))
            assert all([await answers(url) for url in urls])
            for process in after:
                process.terminate()
            assert [await process.wait() for process in after] == [0] * 6


async def test_services_end_with_the_process_that_forked_them(tmp_path: Path) -> None:
    """Leaving the stack leaves no service, even one that was started by command."""
    async with prepare_fork(tmp_path) as fork_server:
        own = await Child.start("it", SERVICE, log=tmp_path / "said", fork_server=fork_server)
        await own.ready_line()
        process = await start_command(fork_server, *SERVICE)
        url = await ready(process)
    assert await process.wait() == -signal.SIGKILL
    assert await own.wait_for_end() == -signal.SIGKILL
    assert not await answers(url)


@pytest.mark.parametrize("why", ["python", "module", "gone"])
async def test_what_cannot_be_forked_is_started_anew(tmp_path: Path, why: str) -> None:
    """Python has other settings, it is no service of a stack, or the stack is gone: the command still runs it."""
    environment = {**os.environ, "PYTHONHASHSEED": "7"} if why == "python" else None
    async with prepare_fork(tmp_path) as fork_server:
        if why != "gone":
            words = ["json.tool", "--help"] if why == "module" else [*SERVICE]
            process = await start_command(fork_server, *words, environment=environment)
    if why == "gone":
        process = await start_command(fork_server, *SERVICE)
    if why == "module":
        output, _ = await process.communicate()
        assert b"usage" in output
        assert process.returncode == 0
        return
    await ready(process)
    assert b"sim.base" in Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[2]  # after `python -m`
    process.terminate()
    assert await process.wait() == 0
