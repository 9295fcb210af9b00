"""The wheel with each extra, in clean environments: how many packages and megabytes, and what they can do.

The versions are those of uv.lock, so that the figures of docs/installing.md are those of every machine of this kind.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance import extras

ROOT: Final = Path(__file__).parents[2]
TABLE: Final = ROOT / "docs" / "installing.md"
# The figures are of this one: others bring along a package more or less.
PYTHON: Final = (3, 11)
LANES: Final = ("algorand", "base", "solana")
# What a machine's files differ in: the size of a block, a processor's libraries.
_TOLERANCE: Final = 0.05
_ROW: Final = re.compile(
    r"^\| `pip install \"?weldproof(?:\[([a-z]+)\])?\"?` \| .* \| ([0-9]+) \| ([0-9]+) \| ([0-9]+) \|$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Size:
    """How much an environment holds beside pip.

    Attributes:
        packages: Distributions, ours among them.
        megabytes: 1,000,000 bytes on disk, with the bytecode that pip compiles.
        bare: The same without bytecode, which uv compiles only when it is asked to.
    """

    packages: int
    megabytes: int
    bare: int


# However versions change, an environment has no more than this.
BOUNDS: Final[Mapping[str, Size]] = {
    "": Size(45, 96, 76),
    "algorand": Size(51, 147, 116),
    "base": Size(73, 185, 147),
    "solana": Size(65, 184, 147),
    "fuzz": Size(66, 164, 133),
    "postgres": Size(47, 109, 83),
    "reference": Size(134, 480, 386),
    "all": Size(134, 480, 386),
}
# It brings what another does, and nothing else: installed once.
_LIKE: Final = {"all": "reference"}


def environment(place: Path, wheel: Path, extra: str) -> Path:
    """Make a clean environment with the wheel and an extra, or none, and return its folder of programs."""
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uv is None:
        raise SystemExit("no uv, which the extra `dev` brings")
    lock_file = place / "locked.txt"
    if not lock_file.exists():
        words = (
            uv,
            "export",
            "--quiet",
            "--frozen",
            "--all-extras",
            "--no-hashes",
            "--no-emit-project",
            "-o",
            str(lock_file),
        )
        _run(words, ROOT)
    folder = place / f"with-{extra or 'nothing'}"
    _run((uv, "venv", "--quiet", "--python", sys.executable, str(folder)), place)
    python, requirement = folder / "bin" / "python", f"{wheel}[{extra}]" if extra else str(wheel)
    options = ("--quiet", "--compile-bytecode", "--constraint", str(lock_file), "--python", str(python))
    _run((uv, "pip", "install", *options, requirement), place)
    return folder / "bin"


def size_of(programs: Path) -> Size:
    """Return how much an environment holds."""
    site = next(programs.parent.glob("lib/python*/site-packages"))
    return Size(len([*site.glob("*.dist-info")]), _megabytes(site), _megabytes(site, "--exclude=__pycache__"))


def _megabytes(folder: Path, *options: str) -> int:
    result = subprocess.run(
        ["du", "-s", "-B1", *options, str(folder)], capture_output=True, text=True, check=True
    ).stdout
    return round(int(result.split()[0]) / 1e6)


def read_documented_sizes() -> dict[str, Size]:
    """Return the figures of docs/installing.md by extra."""
    rows = _ROW.finditer(TABLE.read_text("utf-8"))
    return {found[1] or "": Size(*map(int, found.group(2, 4, 3))) for found in rows}


def try_each(place: Path, wheel: Path) -> Path:
    """Install the wheel with nothing, and with each extra; hold figures and imports; return the programs of `all`.

    Raises:
        SystemExit: A figure is beyond its bound or not what the documents say, or an extra lacks what it promises.
    """
    sizes, programs = dict[str, Size](), dict[str, Path]()
    for extra in BOUNDS:
        if extra in _LIKE:
            sizes[extra], programs[extra] = sizes[_LIKE[extra]], programs[_LIKE[extra]]
            continue
        programs[extra] = environment(place, wheel, extra)
        sizes[extra] = size = size_of(programs[extra])
        bound_of_extra = BOUNDS[extra]
        text = f"{size.packages} packages, {size.bare} MB, {size.megabytes} MB with bytecode"
        print(f"wheel: with {extra or 'no extra'}: {text}", flush=True)  # noqa: T201
        if (
            size.packages > bound_of_extra.packages
            or size.megabytes > bound_of_extra.megabytes
            or size.bare > bound_of_extra.bare
        ):
            raise SystemExit(f"that is more than {bound_of_extra}")
        _imports(programs[extra], extra)
        if extra not in {"", *_LIKE.values()}:
            shutil.rmtree(programs[extra].parent)
    if "--write" in sys.argv:
        _write(sizes)
    documented_sizes = (
        read_documented_sizes() if sys.version_info[:2] == PYTHON and platform.machine() == "x86_64" else sizes
    )
    off = [
        extra
        for extra, one in sizes.items()
        if extra not in documented_sizes or not _alike(one, documented_sizes[extra])
    ]
    if off:
        raise SystemExit(f"docs/installing.md has other figures of {off}; `make wheel-test WRITE=1` writes them")
    return programs["all"]


def _alike(measured_size: Size, documented_size: Size) -> bool:
    sizes = ((measured_size.megabytes, documented_size.megabytes), (measured_size.bare, documented_size.bare))
    return measured_size.packages == documented_size.packages and all(
        abs(now - then) <= _TOLERANCE * then for now, then in sizes
    )


def _write(sizes: Mapping[str, Size]) -> None:
    def row(match: re.Match[str]) -> str:
        size = sizes[match[1] or ""]
        figures = f"| {size.packages} | {size.bare} | {size.megabytes} |"
        return re.sub(r"\| [0-9]+ \| [0-9]+ \| [0-9]+ \|$", figures, match[0])

    TABLE.write_text(_ROW.sub(row, TABLE.read_text("utf-8")), "utf-8")


_IMPORTS: Final = """
import sys
from importlib import import_module
from conformance import extras
from conformance.engine.check_loading import load_checks
wanted, lanes = sys.argv[1].split(","), ("algorand", "base", "solana")
for extra in filter(None, wanted):
    assert extras.is_installed(extra), extra
    for module in extras.MODULES[extra]:
        import_module(module)
    if extra in lanes:
        for part in ("payer", "checkout", "node", "funds"):
            import_module(f"conformance.lanes.{extra}.{part}")
standing_in = {one.lane for one in load_checks() if one.function.__code__.co_name == "not_installed"}
assert standing_in == {*lanes} - {*wanted}, standing_in
if "reference" in wanted:
    for module in ("reference.rail.__main__", "reference.gateway.__main__", "sim.base.__main__", "localnet.serving"):
        import_module(module)
if "fuzz" in wanted:
    import_module("conformance.fuzz.request_generator")
"""


def _imports(programs: Path, extra: str) -> None:
    brings = {"": (), "all": tuple(extras.MODULES), "reference": tuple(extras.MODULES)}.get(
        extra, (extra, "checkout") if extra in LANES else (extra,)
    )
    _run((str(programs / "python"), "-c", _IMPORTS, ",".join(brings)), programs.parent)


def try_base(place: Path, base: Path, everything_program: Path) -> None:
    """Do with nothing but the base what it is for: an agent, receipts, vectors; and see what it says of the rest."""
    empty = place / "base"
    empty.mkdir()
    weldproof = str(base / "weldproof")
    vector = json.loads((ROOT / "conformance/vectors/receipts/valid.json").read_text("utf-8"))["vectors"][0]["input"]
    (empty / "receipt.jws").write_text(vector["jws"])
    (empty / "jwks.json").write_text(json.dumps(vector["jwks"]))
    own = [str(base / "python"), "-m", "conformance.vectors.judges"]
    for words in (
        ["--help"],
        ["list", "--json"],
        ["explain", "RAIL-WELD-02"],
        ["doctor", "--json"],
        ["vectors", "check"],
        ["vectors", "run", "--profile", "--", *own],
        ["receipt", "verify", "receipt.jws", "--jwks", "jwks.json"],
        ["receipt", "inspect", "receipt.jws"],
    ):
        _step(" ".join(words[:2]), [weldproof, *words], empty)
    _explain_alike(weldproof, empty)
    error_line = 'Error: This needs the extra "reference": pip install "weldproof[reference]"\n'
    for words in (["up"], ["run", "AGENT", "--reference"], ["demo"]):
        result = subprocess.run(
            [weldproof, *words], cwd=empty, capture_output=True, text=True, check=False, env=clean()
        )
        if (result.returncode, result.stderr) != (2, error_line):
            raise SystemExit(f"{words} without the reference ended with {result.returncode}: {result.stderr}")
    up = [
        str(everything_program / "weldproof"),
        "up",
        "--json",
        "--port-base",
        "0",
        "--data-dir",
        "stack",
        "--surface",
        "agent",
    ]
    with subprocess.Popen(up, cwd=empty, stdout=subprocess.PIPE, env=clean()) as stack:
        try:
            assert stack.stdout is not None
            agent = json.loads(stack.stdout.readline())["agent"]
            _step("check an agent", [weldproof, "check", agent], empty)
            _step(
                "run on an agent",
                [weldproof, "run", "AGENT", "--target", f"agent={agent}", "--level", "MUST"],
                empty,
                3,
            )
        finally:
            stack.terminate()
            stack.wait(600)


def _explain_alike(weldproof: str, folder: Path) -> None:
    """Compare what the installed suite and the checkout print of some requirements: nothing but packages is missing."""
    words = ["explain", "RAIL-WELD-02", "GW-LINK-14", "AGENT-VERIFY-01"]
    programs = ((weldproof,), (sys.executable, "-m", "conformance"))
    outputs = [
        subprocess.run([*program, *words], cwd=place, capture_output=True, text=True, check=True, env=clean()).stdout
        for program, place in zip(programs, (folder, ROOT), strict=True)
    ]
    if outputs[0] != outputs[1]:
        raise SystemExit(f"the wheel explains a requirement differently from the checkout:\n{outputs[0]}")


def clean() -> dict[str, str]:
    """Return the environment of a program that knows nothing of this one's."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}


def _step(name: str, words: Sequence[str], folder: Path, *codes: int) -> None:
    result = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=clean())
    good = result.returncode in {0, *codes}
    print(f"wheel: base: {name}: {'ok' if good else f'exit {result.returncode}'}", flush=True)  # noqa: T201
    if not good:
        raise SystemExit(f"{result.stdout[-4000:]}\n{result.stderr[-4000:]}")


def _run(words: Sequence[str], folder: Path) -> None:
    result = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=clean())
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(words[:6])}: {result.stdout[-2000:]}{result.stderr[-4000:]}")
