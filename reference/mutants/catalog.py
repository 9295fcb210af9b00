"""Every mutant by its id."""

from __future__ import annotations

from collections.abc import Mapping

from reference.mutants import answers, crash, payments, redemptions
from reference.mutants.seams import Mutant

CATALOG: Mapping[str, Mutant] = {
    mutant.id: mutant for part in (crash, payments, redemptions, answers) for mutant in part.MUTANTS
}
