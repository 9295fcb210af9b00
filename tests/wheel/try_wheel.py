"""Builds the wheel, installs it into clean environments, with each extra, and tries every command from an empty folder.

Run as a program: `python -m tests.wheel.try_wheel`; `--write` puts the sizes of what is
installed into docs/installing.md. Prints one line a step and ends with 1 at the first that fails.
"""

from __future__ import annotations

import email
import gzip
import io
import json
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

from conformance import vectors
from conformance.engine.catalogue import CATALOGUE
from conformance.ledger.deciding_function_lines import RULES
from conformance.ledger.specification import CLAUSES
from tests.wheel import installed

ROOT = Path(__file__).parent.parent.parent


def main() -> int:
    """Build, install, try."""
    with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
        place = Path(folder)
        wheel = _build(place)
        _read(wheel)
        programs = installed.try_each(place, wheel)
        installed.try_base(place, place / "with-nothing" / "bin", programs)
        return _try(place, programs)


def _build(place: Path) -> Path:
    source = place / "source"
    tracked_files = _output(["git", "ls-files", "-z"], ROOT).split("\0")
    for name in filter(None, tracked_files):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    _step("build", [sys.executable, "-m", "build", "--wheel", "--outdir", str(place / "dist"), str(source)], place)
    return next((place / "dist").glob("*.whl"))


def _read(wheel: Path) -> None:
    """Compare the wheel's metadata, typed packages, vectors and derived data with the checkout's."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        info = next(name.partition("/")[0] for name in names if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
        licence = archive.read(f"{info}/licenses/LICENSE")
        packages = archive.read(f"{info}/top_level.txt").decode().split()
        stale = [data.file for data in (CATALOGUE, CLAUSES, RULES) if archive.read(data.file) != data.package_bytes()]
        packed_vectors = zipfile.Path(io.BytesIO(archive.read("conformance/vectors/vectors.zip")))
    ours = vectors.read(packed_vectors) == vectors.package()
    loose = [name for name in names if name.startswith("conformance/vectors/") and name.endswith("/valid.json")]
    untyped_packages = [package for package in packages if f"{package}/py.typed" not in names]
    license_members = (
        metadata["License-Expression"],
        metadata.get_all("License-File"),
        licence == (ROOT / "LICENSE").read_bytes(),
    )
    if license_members != ("Apache-2.0", ["LICENSE"], True) or untyped_packages or not packages:
        raise SystemExit(f"the wheel says of itself {license_members}, and without py.typed are {untyped_packages}")
    if loose or not ours:
        raise SystemExit(f"the wheel has other vectors than the checkout, or these beside their archive: {loose}")
    if stale:
        raise SystemExit(f"the wheel has other data than the checkout: {stale}")
    print("wheel: metadata: ok", flush=True)  # noqa: T201


def _try(place: Path, programs: Path) -> int:
    empty = place / "empty"
    empty.mkdir()
    weldproof = str(programs / "weldproof")
    _step("help", [weldproof, "--help"], empty)
    commands = (
        "up",
        "run",
        "list",
        "explain",
        "replay",
        "report",
        "pay",
        "init",
        "doctor",
        "selftest",
        "localnet",
        "bench",
        "tenant",
        "message",
        "listen",
        "vectors",
        "receipt",
    )
    for command in commands:
        _step(f"{command} --help", [weldproof, command, "--help"], empty)
    _step("list", [weldproof, "list", "RAIL", "--json"], empty)
    _step("explain", [weldproof, "explain", "RAIL-WELD-02"], empty)
    _step("doctor", [weldproof, "doctor", "--json"], empty)
    (empty / "message.http").write_bytes(b"GET /a?b HTTP/1.1\r\nHost: example.org\r\n\r\n")
    _step("message sign", [weldproof, "message", "sign", "message.http", "-o", "signed.http"], empty)
    _step("vectors check", [weldproof, "vectors", "check"], empty)
    _step("vectors archive", [weldproof, "vectors", "archive", "vectors.zip"], empty)
    own = [str(programs / "python"), "-m", "conformance.vectors.judges"]
    _step("vectors run", [weldproof, "vectors", "run", "--profile", "--", *own], empty)
    _step("selftest --list", [weldproof, "selftest", "--list"], empty)
    _step("demo", [weldproof, "demo"], empty)
    _step("run", [weldproof, "run", "RAIL", "--reference", "--report", "html", "--report", "json"], empty)
    gateway = ["GW", "--reference", "--lane", "algorand", "--report-dir", "gateway"]
    _step("run on the gateway", [weldproof, "run", *gateway], empty)
    for program in ("weldproof-rail", "weldproof-gateway"):
        _step(f"{program} --help", [str(programs / program), "--help"], empty)
    real = ["--chains", "localnet,algorand=sim", "--report-dir", "nodes"]
    _step("run on real nodes", [weldproof, "run", "RAIL-LANE", "RAIL-PAY-03", "RAIL-PAY-04", *real], empty)
    _step("report show", [weldproof, "report", "show", "report"], empty)
    number = _first_exchange(empty / "report" / "events.ndjson.gz")
    _step("replay", [weldproof, "replay", f"report#{number}", "--reference"], empty)
    _with_stack(empty, weldproof)
    return 0


def _first_exchange(path: Path) -> int:
    events = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    return next(int(one["n"]) for one in events if one["event"] == "exchange" and one["check"] != "discovery")


def _with_stack(empty: Path, weldproof: str) -> None:
    """Try `up`, `init`, `pay` and `run --config` together."""
    words = [weldproof, "up", "--json", "--port-base", "0", "--data-dir", "stack"]
    with subprocess.Popen(words, cwd=empty, stdout=subprocess.PIPE, env=installed.clean()) as stack:
        try:
            assert stack.stdout is not None
            ready = json.loads(stack.stdout.readline())
            for lane in ("algorand", "base", "solana"):
                pay_command = [weldproof, "pay", "--lane", lane, ready["rail"] + "/pay/v1/compliance/receipt"]
                _step(f"pay on {lane}", pay_command, empty)
            chain = ["--algod", ready["algod"], "--indexer", ready["indexer"], "--control", ready["control"]]
            chain += ["--algod-token-file", ready["algod_token_file"]]
            for name in ("base", "solana"):
                chain += [f"--{name}-rpc", ready[name], f"--{name}-control", ready[name] + "/control"]
            _step("check", [weldproof, "check", ready["rail"]], empty)
            _step("init", [weldproof, "init", ready["rail"], "-o", "probed.toml", *chain], empty)
            _step("run --config", [weldproof, "run", "RAIL-KEY", "--config", "probed.toml"], empty)
        finally:
            stack.terminate()
            stack.wait(600)
    if (empty / "weldproof.toml").exists():
        raise SystemExit("up left ./weldproof.toml behind")


def _step(name: str, words: Sequence[str], folder: Path) -> None:
    start = time.perf_counter()
    result = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=installed.clean())
    end, seconds = "ok" if result.returncode == 0 else f"exit {result.returncode}", time.perf_counter() - start
    print(f"wheel: {name}: {end}, {seconds:.1f} s", flush=True)  # noqa: T201
    if result.returncode != 0:
        print(result.stdout[-4000:], result.stderr[-4000:], sep="\n")  # noqa: T201
        raise SystemExit(1)


def _output(words: Sequence[str], folder: Path) -> str:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
