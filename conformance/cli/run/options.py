"""The options of `weldproof run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from conformance.cli.target_options import TargetOptions
from conformance.ledger import NEWEST

# Options that change only how a run is shown.
_PRESENTATION: Final = frozenset({"report_dir", "as_json", "verbose"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(TargetOptions):
    """Options of `weldproof run`.

    Attributes:
        ids: Prefixes of requirement ids; none means all requirements.
        addon: `--addon`: test an addon.
        addon_url: `--addon-url`.
        stock: `--stock`: the payer under test is a stock x402 client.
        beside: `--compare-with`: a profile, or `NAME=URL` per surface.
        surfaces: `--surface`: only these surfaces; empty means all.
        lanes: `--lane`: only these lanes; empty means all.
        levels: `--level`: only these levels; empty means all.
        ledger: `--ledger`: version of the ledger.
        xfail: `--xfail`: file with expected failures.
        strict: `--strict`: a warning fails the run.
        seed: `--seed`; None draws one.
        shard: `--shard`: `I/N`.
        workers: `--workers`; None takes the profile's number.
        fuzz_seconds: `--fuzz-seconds`: seconds for generated requests.
        fail_fast: `--fail-fast`.
        kinds: `--report`: report formats; empty means html and json.
        report_dir: `--report-dir`; None takes `report`, or `report-quick` in a quick run.
        quick: `--quick`: samples only.
        as_json: `--json`.
        verbose: `--verbose`.
    """

    ids: tuple[str, ...] = ()
    addon: bool = False
    addon_url: str | None = None
    stock: bool = False
    beside: tuple[str, ...] = ()
    surfaces: tuple[str, ...] = ()
    lanes: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    ledger: int = NEWEST
    xfail: Path | None = None
    strict: bool = False
    seed: int | None = None
    shard: str | None = None
    workers: int | None = None
    fuzz_seconds: float | None = None
    fail_fast: bool = False
    kinds: tuple[str, ...] = ()
    report_dir: Path | None = None
    quick: bool = False
    as_json: bool = False
    verbose: bool = False

    @property
    def report_folder(self) -> Path:
        """The folder of the reports."""
        # A quick run gives no verdict, so it must not replace the report of a whole run, which does.
        return self.report_dir or Path("report-quick" if self.quick else "report")

    def changed_options(self) -> Mapping[str, Any]:
        """Return the given options that change the run itself, as JSON for the log."""
        options = {name: value for name, value in asdict(self).items() if value and name not in _PRESENTATION}
        plain: Mapping[str, Any] = orjson.loads(orjson.dumps(options, default=str))
        return plain
