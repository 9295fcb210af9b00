"""`python -m tools.bench.reference`: what the reference costs, as a table or as JSON.

Two more commands serve a bench that works from outside: `turns` measures one job a round at a time, so that another
project's verifier can be measured in between, and `serve` puts the rail with its chain in memory on a server.
"""

from __future__ import annotations

import asyncio
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click
import orjson

from tools.bench.reference import material, profiling
from tools.bench.reference.jobs import JOBS, contenders
from tools.bench.reference.rounds import MICRO, Measured, Report, measure

_PROFILED_SECONDS = 0.3
_PACKAGES = (
    "weldproof",
    "quart",
    "hypercorn",
    "uvloop",
    "pynacl",
    "cryptography",
    "solders",
    "sqlalchemy",
    "aiosqlite",
    "orjson",
    "aiohttp",
)


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print every round as JSON.")
@click.option("--only", multiple=True, type=click.Choice(list(JOBS)), help="Only this job.")
@click.option("--rounds", type=click.IntRange(1), default=7, show_default=True, help="Rounds that count.")
@click.option("--seconds", type=click.FloatRange(0.001), default=0.1, show_default=True, help="CPU time of a round.")
@click.pass_context
def main(ctx: click.Context, as_json: bool, only: Sequence[str], rounds: int, seconds: float) -> None:
    """Measure each job of the reference beside its floors, in this process."""
    if ctx.invoked_subcommand is not None:
        return
    import uvloop  # noqa: PLC0415 - the loop that the services run on

    jobs = uvloop.run(_measure_jobs(only or tuple(JOBS), rounds, seconds))
    if as_json:
        click.echo(orjson.dumps({"versions": versions(), "jobs": jobs}))
    else:
        _show(jobs)


@main.command("turns")
@click.argument("job", type=click.Choice(["receipt", "message"]))
@click.option("--seconds", type=click.FloatRange(0.001), default=0.1, show_default=True, help="CPU time of a round.")
def turns(job: str, seconds: float) -> None:
    """Measure our side of JOB once for each line that is read.

    The first line printed is a JSON object with `given`, what is verified, for others to verify too. Each later one
    answers a line that was read: CPU microseconds a job, as a number.
    """
    asyncio.run(_turns(job, seconds))


async def _turns(job: str, seconds: float) -> None:
    verifier_material = material.verifier_material(job, int(time.time()))
    async with contenders(job, Path()) as entrants:
        ours = Measured(entrants[0])
        await ours.calibrate(seconds)
        click.echo(orjson.dumps({"given": verifier_material}))
        for _ in sys.stdin:
            await ours.measure()
            click.echo(orjson.dumps(ours.rounds[-1]))


@main.command("profile")
@click.argument("jobs", nargs=-1, type=click.Choice(list(JOBS)))
def profile(jobs: Sequence[str]) -> None:
    """Print where the time of our side of each job goes, by module, as JSON."""
    import uvloop  # noqa: PLC0415 - as above

    click.echo(orjson.dumps(uvloop.run(_profiles(jobs or tuple(JOBS)))))


async def _profiles(jobs: Sequence[str]) -> Report:
    report: Report = {}
    for job in jobs:
        with tempfile.TemporaryDirectory(prefix="weldproof-bench-") as folder:
            async with contenders(job, Path(folder)) as entrants:
                ours = Measured(entrants[0])
                await ours.calibrate(_PROFILED_SECONDS)
                report[job] = await profiling.shares(ours)
    return report


@main.command("serve")
@click.argument("app", type=click.Choice(["rail", "prepared", "hello"]))
@click.option(
    "--server", type=click.Choice(["hypercorn", "uvicorn", "granian"]), default="hypercorn", show_default=True
)
@click.option("--fd", type=int, required=True, help="Number of a socket that listens.")
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), required=True, help="Where its data go.")
@click.option("--proofs", type=click.IntRange(0), default=0, show_default=True, help="How many payments to make.")
def serve_app(app: str, server: str, fd: int, folder: Path, proofs: int) -> None:
    """Serve the rail with its chain in memory, one prepared challenge or a hello; `ready` is printed when it is.

    FOLDER then holds `body`, the body of the paid call, and `proofs`, a value of X-PAYMENT a line, each for one call.
    """
    from reference.web import logs  # noqa: PLC0415 - with it
    from tools.bench.reference import serve  # noqa: PLC0415 - the rail takes seconds to import

    logs.configure("warning")

    def ready() -> None:
        click.echo("ready")

    openers = {
        "rail": serve.rail(folder, proofs, ready),
        "prepared": serve.serve_prepared(folder, ready),
        "hello": serve.hello(ready),
    }
    serve.SERVERS[server](openers[app], fd)


async def _measure_jobs(names: Sequence[str], rounds: int, seconds: float) -> list[Report]:
    reports = []
    for name in names:
        click.echo(f"in process: {name}", err=True)
        with tempfile.TemporaryDirectory(prefix="weldproof-bench-") as folder:
            async with contenders(name, Path(folder)) as entrants:
                reports.append(await measure(name, entrants, rounds=rounds, seconds=seconds))
    return reports


def versions() -> dict[str, str]:
    """Return what was measured, by version."""
    versions_by_name = {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}
    with suppress(PackageNotFoundError):  # it comes with the tests
        versions_by_name["httpx"] = version("httpx")
    return versions_by_name


def _show(jobs: Sequence[Report]) -> None:
    for job in jobs:
        click.echo(f"\n{job['job']}")
        for contender in job["contenders"]:
            cost = statistics.median(contender["rounds"])
            rate = f"{MICRO / cost:10,.0f} a second and core"
            beside = (
                f"ours is {contender['ratio']:.2f}x ({contender['low']:.2f} to {contender['high']:.2f})"
                if "ratio" in contender
                else ""
            )
            click.echo(f"  {contender['name']:32} {cost:10.1f} us {rate}  {beside}".rstrip())


if __name__ == "__main__":
    main(prog_name="python -m tools.bench.reference")
