"""What is wrong with a signature that does not hold: found by changing one thing and seeing that it then holds."""

from __future__ import annotations

from reference.protocol.message_signatures.diagnosis import encoding, fields, form, keys, path, target
from reference.protocol.message_signatures.diagnosis.case import Case, Suspicion, find_proven_note

# In this order: what is seen most, and what says most, first.
SUSPICIONS: tuple[Suspicion, ...] = (
    path.query_inside_path,
    target.method,
    target.authority,
    target.scheme,
    keys.named_keys,
    keys.forms,
    encoding.encodings,
    encoding.of_other_labels,
    target.behind_a_proxy,
    path.path,
    path.query,
    path.query_parameters,
    path.whole_target,
    fields.missing_fields,
    form.lines,
    form.times,
    form.parameters,
    form.hashed_base,
    fields.fields,
    fields.parameters_of_fields,
)

__all__ = ["SUSPICIONS", "Case", "Suspicion", "fields", "find_proven_note", "keys"]
