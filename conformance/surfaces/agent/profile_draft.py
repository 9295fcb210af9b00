"""The agent's part of a drafted profile: lines to fill in for names that no probe discovered."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Final

from conformance.surfaces.agent.probing import DiscoveredAgent
from conformance.text.target_text_escaping import one_line

# A reason may quote an answer of the target, which may be long.
_LONGEST_REASON: Final = 400
_BODY = """\
# [agent.verify_body]                          # the body of verify, member by member, such as
# public_key_hex = "{public_key_hex}"
# did_key = "{did_key}"
# [agent.verify_body.message]
# method = "{method}"
# url = "{url}"                                # or authority, scheme and path, by {authority}, {scheme} and {path}
# headers = "{headers}"
# content = "{body_b64}"                       # or the text of the content, by {body}
"""
_UNKNOWN: Mapping[str, str] = {
    "validity_at": '# validity_at = "valid"                     # where verify says whether the message is valid',
    "errors_at": '# errors_at = "errors"                      # the list of errors',
    "skew": "# skew = 60                                 # seconds that clocks may differ; unset, no row asks",
    "codes_at": '# codes_at = "error_codes"                  # the list of error codes, or `problems.code`, with',
    "error_codes": "# error_codes = { expired = \"expired\" }       # the target's code by the profile's",
    "offline_url": '# offline_url = "https://offline.example"     # the same agent where it can reach no network',
}


def agent_help(agent: DiscoveredAgent) -> str:
    """Return the commented lines that follow: the open question, and the names that no probe discovered."""
    text = "\n"
    if agent.open_question is not None:
        reason = one_line(agent.open_question, _LONGEST_REASON)
        text += textwrap.fill(f"To be said first: {reason}", 118, initial_indent="# ", subsequent_indent="# ") + "\n"
    text += "# Names of [agent] that were not found; uncomment there what you know.\n"
    text += "".join(f"{line}\n" for name, line in _UNKNOWN.items() if name not in agent.bindings)
    return text + ("" if "verify_body" in agent.bindings else _BODY)
