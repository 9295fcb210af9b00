"""The options of `weldproof run` and `weldproof replay`, with their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from conformance.cli.connection import connected
from conformance.cli.mutants import checked_mutant
from conformance.cli.usage import UsageFault
from conformance.ledger import NEWEST
from conformance.target import Profile

# Options that change only how a run is shown.
_PRESENTATION: Final = frozenset({"report_dir", "as_json", "verbose"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOptions:
    """Options that name the target, or how the reference is started as the target.

    Attributes:
        config: `--config`: the target's profile.
        addresses: `--target`: `NAME=URL` per surface.
        own_stack: `--reference`: the built-in reference.
        mutant: `--mutant`: the reference as this mutant.
        settings: `--setting`: `NAME=VALUE` for the reference.
        chains: `--chains`: kinds of chains of the reference, or a file with the nodes of the target.
        block_mode: `--algorand-mode`.
        main_network: `--main-network`: payments with real money are allowed.
        cacert: `--cacert`: file with certificate authorities.
        insecure: `--insecure`: any certificate is accepted.
        timeout: `--timeout`: seconds for an answer.
    """

    config: Path | None = None
    addresses: tuple[str, ...] = ()
    own_stack: bool = False
    mutant: str | None = None
    settings: tuple[str, ...] = ()
    chains: str | None = None
    block_mode: str | None = None
    main_network: bool = False
    cacert: Path | None = None
    insecure: bool = False
    timeout: float | None = None

    def means_reference(self, nodes: Profile | None) -> bool:
        """Return whether the built-in reference is the target.

        Args:
            nodes: The profile that `--chains FILE` names, if it names one.

        Raises:
            UsageFault: Another target is named as well, or there is no such mutant.
        """
        kinds = bool(self.chains) and nodes is None
        reference = self.own_stack or kinds or bool(self.mutant or self.settings or self.block_mode)
        if reference and (self.config or self.addresses):
            raise UsageFault(
                "--reference, --mutant, --setting, --chains KINDS and --algorand-mode cannot be combined with --config "
                "or --target"
            )
        if self.mutant:
            checked_mutant(self.mutant)
        return reference

    def reference_words(self, lanes: Sequence[str] = ()) -> list[str]:
        """Return the words of `weldproof up` that start the reference as these options say.

        Args:
            lanes: Lanes of the run; real nodes are started only for these. Empty means all.
        """
        words = ["--chains", self.chains or "sim"]
        if "localnet" in words[1]:
            words += [word for lane in lanes for word in ("--lane", lane)]
        if self.mutant:
            words += ["--mutant", self.mutant]
        words += [word for setting in self.settings for word in ("--setting", setting)]
        if self.block_mode:
            words += ["--algorand-mode", self.block_mode]
        return words

    def connected(self, profile: Profile) -> Profile:
        """Return a profile with the options of the connection."""
        return connected(profile, cacert=self.cacert, insecure=self.insecure, timeout=self.timeout)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions(TargetOptions):
    """Options of `weldproof replay`.

    Attributes:
        tries: `--tries`: highest number of repetitions.
        beside: `--beside`: also run the checks that ran at the same time.
        as_json: `--json`.
    """

    tries: int = 1
    beside: bool = False
    as_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(TargetOptions):
    """Options of `weldproof run`.

    Attributes:
        ids: Prefixes of requirement ids; none means all requirements.
        addon: `--addon`: test an addon.
        addon_url: `--addon-url`.
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
        report_dir: `--report-dir`.
        quick: `--quick`: samples only.
        as_json: `--json`.
        verbose: `--verbose`.
    """

    ids: tuple[str, ...] = ()
    addon: bool = False
    addon_url: str | None = None
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
    report_dir: Path = Path("report")
    quick: bool = False
    as_json: bool = False
    verbose: bool = False

    def recorded(self) -> Mapping[str, Any]:
        """Return the JSON form that the log keeps: options that were given and that change the run itself."""
        given = {name: value for name, value in asdict(self).items() if value and name not in _PRESENTATION}
        plain: Mapping[str, Any] = orjson.loads(orjson.dumps(given, default=str))
        return plain
