"""Every mutant by its id."""

from __future__ import annotations

from collections.abc import Mapping

from reference.mutants import answers, base_lane, crash, payments, redemptions, solana_lane
from reference.mutants.seams import Mutant

CATALOG: Mapping[str, Mutant] = {
    mutant.id: mutant
    for part in (crash, payments, redemptions, base_lane, solana_lane, answers)
    for mutant in part.MUTANTS
}
