"""The operators of this field: each makes small mutants of one kind, in the places that it fits."""

from __future__ import annotations

from collections.abc import Sequence

from tools.mutation.operators.comparisons import Comparisons, Guards, Matching
from tools.mutation.operators.hashes import Digests
from tools.mutation.operators.lookups import Clauses
from tools.mutation.operators.members import Members, Records, Texts
from tools.mutation.operators.numbers import Limits, Statuses, Sums
from tools.mutation.operators.operator import Operator
from tools.mutation.operators.rules import Filters, Lists, Statements

OPERATORS: Sequence[Operator] = (
    *(Comparisons(), Guards(), Matching(), Lists(), Filters(), Statements()),
    *(Members(), Records(), Texts(), Statuses(), Limits(), Sums(), Digests(), Clauses()),
)
