"""Every mutant by its id."""

from __future__ import annotations

from collections.abc import Mapping

from reference.mutants import crash
from reference.mutants.seams import Mutant

CATALOG: Mapping[str, Mutant] = {mutant.id: mutant for mutant in crash.MUTANTS}
