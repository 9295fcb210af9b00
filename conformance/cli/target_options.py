"""Options of `weldproof run` and `weldproof replay` that name the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.cli.connection import apply_connection_options
from conformance.cli.mutant_option import check_mutant
from conformance.cli.usage import UsageFault
from conformance.target import Profile


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
            UsageFault: Another target is named as well, or the mutant does not exist.
        """
        # --chains takes kinds of chains for the reference, or a file with nodes for another target.
        kinds = bool(self.chains) and nodes is None
        reference = self.own_stack or kinds or bool(self.mutant or self.settings or self.block_mode)
        if reference and (self.config or self.addresses):
            raise UsageFault(
                "--reference, --mutant, --setting, --chains KINDS and --algorand-mode cannot be combined with --config "
                "or --target"
            )
        if self.mutant:
            check_mutant(self.mutant)
        return reference

    def reference_words(self, lanes: Sequence[str] = ()) -> list[str]:
        """Return the words of `weldproof up` that start the reference as these options say.

        Args:
            lanes: Lanes of the run; real nodes are started only for these. Empty means all.
        """
        words = ["--chains", self.chains or "sim"]
        # Real nodes take long to start, so only those of the selected lanes start.
        if "localnet" in words[1]:
            words += [word for lane in lanes for word in ("--lane", lane)]
        if self.mutant:
            words += ["--mutant", self.mutant]
        words += [word for setting in self.settings for word in ("--setting", setting)]
        if self.block_mode:
            words += ["--algorand-mode", self.block_mode]
        return words

    def apply_connection(self, profile: Profile) -> Profile:
        """Return a profile with the options for the connection."""
        return apply_connection_options(profile, cacert=self.cacert, insecure=self.insecure, timeout=self.timeout)
