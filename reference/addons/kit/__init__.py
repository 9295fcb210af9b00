"""The addon kit: a function that returns operations becomes a service that has joined the hub (P-AD-01 to P-AD-07).

The kit gives `/health`, the trust set, registration, limits, errors and the command; `examples/addon_in_a_page.py`
shows all of it.
"""

from reference.addons.kit.addon import Addon
from reference.addons.kit.handler_context import Call, Context, Handler

__all__ = ["Addon", "Call", "Context", "Handler"]
