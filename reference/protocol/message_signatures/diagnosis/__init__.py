"""Diagnosis of a signature that does not hold: one thing is changed, and the signature is verified again.

A suspicion yields changes that signers and intermediaries make by mistake. A note is given only after the signature was
verified with the change, so no note is a guess (6.3). The verdict never depends on a note.
"""

from __future__ import annotations

from reference.protocol.message_signatures.diagnosis import (
    encoding,
    fields,
    keys,
    path,
    signature_base_mistakes,
    target,
)
from reference.protocol.message_signatures.diagnosis.suspect_trial import Case, Suspicion, find_proven_note

# The most frequent mistakes go first, because the number of trials is bounded.
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
    signature_base_mistakes.lines,
    signature_base_mistakes.times,
    signature_base_mistakes.parameters,
    signature_base_mistakes.hashed_base,
    fields.fields,
    fields.parameters_of_fields,
)

__all__ = ["SUSPICIONS", "Case", "Suspicion", "fields", "find_proven_note", "keys"]
