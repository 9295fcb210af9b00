"""`make load`: throughput, p50 and p99 of each kind of call on one and two workers, on SQLite and PostgreSQL.

wrk sends, so the load costs little. The processor time of the workers is printed, too: other programs on the machine
change it less than the rate. Compare the lines of one run only.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import aiohttp
import click

from programs.missing import Missing
from programs.wrk import wrk
from tests.load.rail_worker import PAYMENTS
from tests.reference.gateway.gateway_process import GatewayProcess
from tests.reference.gateway.gateway_stack import LINK, LINKS, VERIFY
from tests.reference.postgres_cluster import own_database, private_cluster
from tests.reference.worker_process import WorkerProcess
from tools.bench.reference import material
from tools.bench.reference.memory_rail import PAYEE, name_transaction

JOBS: Final = ("unpaid", "paid", "links", "status", "verification")
STORES: Final = ("sqlite", "postgresql")
_SCRIPT = Path(__file__).parent / "script.lua"
_PAID_PATH = "/pay/v1/verify/receipt"
# More proofs than a worker can take on a fast machine; a call without one would be counted as wrong.
_PROOFS_A_SECOND = 1_000
_CHALLENGES_AT_ONCE = 16
_WARM_UP_CALLS = 20
# A worker that is forked from a process of tests would share its imports, and so its memory.
_WITHOUT_FORK: Final = ("-u", "-m")


class LoadFault(Exception):
    """A worker did not answer as it should; the text says how."""


@dataclass(frozen=True, slots=True)
class Job:
    """One kind of call.

    Attributes:
        method: HTTP method.
        path: Path of the call.
        status: Status of each answer.
        headers: Header fields.
        body: Raw body.
        proofs: Values of `X-PAYMENT`, one for each call; empty if the calls are all equal.
    """

    method: str
    path: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    proofs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one job cost.

    Attributes:
        job: Name of the job.
        store: `sqlite` or `postgresql`.
        workers: How many workers were called.
        calls_per_second: Answers of all workers.
        p50_ms: Half of the answers took at most so many milliseconds.
        p99_ms: 99 of 100 answers took at most so many milliseconds.
        cpu_ms: Processor time of the workers for a call, in milliseconds, without the database's.
    """

    job: str
    store: str
    workers: int
    calls_per_second: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float


def measure(
    job: Job, name: str, store: str, workers: Sequence[WorkerProcess], seconds: int, connections: int, folder: Path
) -> Measurement:
    """Let wrk call workers, each on its share of the connections.

    Raises:
        LoadFault: An answer had another status, or none came.
    """
    job = warm_up(job, name, workers)
    folder.mkdir(parents=True)
    lines = [job.method, job.path, str(job.status), *(f"{field}: {value}" for field, value in job.headers.items())]
    (folder / "request").write_text("\n".join(lines) + "\n", "ascii")
    if job.body:
        (folder / "body").write_bytes(job.body)
    if job.proofs:
        (folder / "proofs").write_text("\n".join(job.proofs), "ascii")
    ports = [worker.socket.getsockname()[1] for worker in workers]
    environment = {**os.environ, "LOAD_PORTS": " ".join(map(str, ports)), "LOAD_FOLDER": str(folder)}
    words = [f"-t{len(ports)}", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(_SCRIPT)]
    before = [_cpu_seconds(worker) for worker in workers]
    process = subprocess.run(
        [str(wrk().path), *words, f"http://127.0.0.1:{ports[0]}{job.path}"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    cpu = sum(_cpu_seconds(worker) for worker in workers) - sum(before)
    try:
        result: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    except (IndexError, ValueError) as fault:
        raise LoadFault(f"{name}: wrk reported nothing: {process.stdout}{process.stderr}") from fault
    if result["wrong"] or result["broken"] or not result["answered"]:
        raise LoadFault(f"{name} on {store} with {len(ports)} workers: {result}")
    answered = result["answered"]
    rate = answered / result["seconds"]
    return Measurement(name, store, len(ports), rate, result["p50_ms"], result["p99_ms"], cpu / answered * 1000)


def warm_up(job: Job, name: str, workers: Sequence[WorkerProcess]) -> Job:
    """Call each worker some times, so that no first call is measured; return the job without the proofs that this used.

    Raises:
        LoadFault: An answer had another status.
    """
    proofs = list(job.proofs)
    for worker in workers:
        for _ in range(_WARM_UP_CALLS):
            headers = {**job.headers, **({"X-PAYMENT": proofs.pop()} if job.proofs else {})}
            answer = worker.http.request(job.method, job.path, content=job.body or None, headers=headers)
            if answer.status_code != job.status:
                raise LoadFault(f"{name}: {answer.status_code} {answer.text[:200]}")
    return replace(job, proofs=proofs)


def _cpu_seconds(worker: WorkerProcess) -> float:
    fields = Path(f"/proc/{worker.pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def run_workers(workers: Sequence[WorkerProcess]) -> Iterator[Sequence[WorkerProcess]]:
    """Start workers, wait until they are ready, and end them."""
    try:
        for worker in workers:
            worker.start().ready()
        yield workers
    finally:
        for worker in workers:
            worker.close()


def list_rail_workers(folder: Path, count: int, database: str | None) -> list[WorkerProcess]:
    """Return workers of one rail on one database, SQLite if none is named."""
    settings = {
        "WP_SERVER": "uvicorn",
        "WP_RAIL_DATA_DIR": str(folder / "data"),
        "WP_RAIL_PAYTO_ALGORAND": PAYEE,
        "WP_RAIL_PUBLIC_URL": "http://localhost:8402",
        "WP_REQUEST_LOG": "off",
        **({} if database is None else {"WP_RAIL_DB": database}),
    }
    (folder / "data").mkdir(parents=True)
    program = (*_WITHOUT_FORK, "tests.load.rail_worker", str(folder))
    return [WorkerProcess(folder / str(number), program, "WP_RAIL_FD", settings) for number in range(count)]


def list_gateway_workers(folder: Path, count: int, database: str | None) -> list[GatewayProcess]:
    """Return workers of one gateway on one database, SQLite if none is named."""
    folder.mkdir(parents=True)
    keys = folder / "trusted_jwks.json"
    keys.write_text(json.dumps(material.receipt().jwks), "utf-8")
    settings = {
        "WP_SERVER": "uvicorn",
        "WP_GATEWAY_DATA_DIR": str(folder / "data"),
        "WP_GATEWAY_PUBLIC_URL": "http://localhost:8090",
        "WP_GATEWAY_TRUSTED_JWKS": str(keys),
        "WP_REQUEST_LOG": "off",
        **({} if database is None else {"WP_GATEWAY_DB": database}),
    }
    program = (*_WITHOUT_FORK, "reference.gateway")
    return [GatewayProcess(folder / str(number), settings, program=program) for number in range(count)]


async def prepare_proofs(url: str, body: bytes, folder: Path, count: int) -> list[str]:
    """Return proofs, each of a payment of a challenge of the rail."""
    tokens: list[str] = []
    async with aiohttp.ClientSession(trust_env=False) as session:

        async def ask() -> None:
            while len(tokens) < count:
                async with session.post(url + _PAID_PATH, data=body, headers=_JSON) as answer:
                    entry = (await answer.json())["accepts"][0]
                tokens.append(entry["extra"]["payment_reference"])

        await asyncio.gather(*(ask() for _ in range(_CHALLENGES_AT_ONCE)))
    (folder / PAYMENTS).write_text("\n".join(tokens), "ascii")
    proofs = [{"tx_id": name_transaction(token), "payment_reference": token} for token in tokens]
    return [base64.b64encode(json.dumps(proof).encode()).decode() for proof in proofs]


_JSON: Final = {"Content-Type": "application/json"}


def measure_rail(folder: Path, count: int, store: str, database: str | None, load: Load) -> Iterator[Measurement]:
    """Yield the measurements of the rail's jobs."""
    receipt = material.receipt()
    body = json.dumps({"jws": receipt.jws, "jwks": receipt.jwks}).encode()
    with run_workers(list_rail_workers(folder / "rail", count, database)) as workers:
        unpaid = Job("POST", _PAID_PATH, 402, _JSON, body)
        yield load.measure(unpaid, "unpaid", store, workers)
        proofs = asyncio.run(
            prepare_proofs(workers[0].url, body, folder / "rail", count * load.seconds * _PROOFS_A_SECOND)
        )
        yield load.measure(Job("POST", _PAID_PATH, 200, _JSON, body, proofs), "paid", store, workers)


def measure_gateway(folder: Path, count: int, store: str, database: str | None, load: Load) -> Iterator[Measurement]:
    """Yield the measurements of the gateway's jobs."""
    with run_workers(gateways := list_gateway_workers(folder / "gateway", count, database)) as workers:
        tenant = gateways[0].tenant()
        credentials = {**_JSON, **tenant.headers()}
        link = json.dumps(LINK).encode()
        answer = workers[0].http.post(LINKS, content=link, headers=credentials)
        token = answer.json()["token"]
        yield load.measure(Job("POST", LINKS, answer.status_code, credentials, link), "links", store, workers)
        yield load.measure(Job("GET", f"/checkout/{token}/status", 200), "status", store, workers)
        receipt = json.dumps({"jws": material.receipt().jws}).encode()
        yield load.measure(Job("POST", VERIFY, 200, _JSON, receipt), "verification", store, workers)


@dataclass(slots=True)
class Load:
    """How much load there is, and where its files are."""

    seconds: int
    connections: int
    folder: Path
    jobs_done: int = 0

    def measure(self, job: Job, name: str, store: str, workers: Sequence[WorkerProcess]) -> Measurement:
        """Measure a job once."""
        self.jobs_done += 1
        folder = self.folder / f"job-{self.jobs_done}"
        return measure(job, name, store, workers, self.seconds, self.connections, folder)


def run(load: Load, stores: Sequence[str], counts: Sequence[int]) -> Iterator[Measurement]:
    """Yield the measurements of all jobs, on each store with each number of workers.

    Raises:
        LoadFault: A worker did not answer as it should.
        Missing: wrk or PostgreSQL is not here.
    """
    with contextlib.ExitStack() as exits:
        server = exits.enter_context(private_cluster(is_durable=True)) if "postgresql" in stores else None
        for store in stores:
            for count in counts:
                folder = load.folder / f"{store}-{count}"
                for measure_surface in (measure_rail, measure_gateway):
                    with contextlib.ExitStack() as databases:
                        database = None
                        if server is not None and store == "postgresql":
                            database = databases.enter_context(own_database(server))
                        yield from measure_surface(folder, count, store, database, load)


@click.command()
@click.option("--seconds", type=click.IntRange(1, 600), default=5, show_default=True, help="Of each measurement.")
@click.option("--connections", type=click.IntRange(2, 1000), default=32, show_default=True, help="Of all workers.")
@click.option("--workers", "counts", type=int, multiple=True, default=(1, 2), show_default=True, help="How many.")
@click.option("--store", "stores", type=click.Choice(STORES), multiple=True, default=STORES, help="Which databases.")
def main(seconds: int, connections: int, counts: tuple[int, ...], stores: tuple[str, ...]) -> None:
    """Measure workers of rail and gateway under load, and print a Markdown table."""
    start = time.monotonic()
    click.echo("| Call | Database | Workers | Calls a second | p50 ms | p99 ms | CPU ms of a worker for a call |")
    click.echo("| --- | --- | --- | --- | --- | --- | --- |")
    try:
        with tempfile.TemporaryDirectory(prefix="weldproof-load-") as folder:
            for one in run(Load(seconds, connections, Path(folder)), stores, counts):
                click.echo(
                    f"| {one.job} | {one.store} | {one.workers} | {one.calls_per_second:,.0f} | {one.p50_ms:.1f} "
                    f"| {one.p99_ms:.1f} | {one.cpu_ms:.2f} |"
                )
    except (LoadFault, Missing) as fault:
        click.echo(f"load: {fault}", err=True)
        sys.exit(1)
    load_average = os.getloadavg()[0]
    click.echo(
        f"\n{wrk().name} {wrk().version}, {connections} connections, {os.cpu_count()} processors, "
        f"load average {load_average:.1f}, {time.monotonic() - start:.0f} s."
    )


if __name__ == "__main__":
    main()
