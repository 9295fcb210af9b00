"""The target profile, `weldproof.toml`: the operator's description of the server under test.

It gives addresses, credentials (by environment variable or file, never by value), the names the interface leaves open,
what is claimed, budgets, how to reach the chain nodes and fund the payers, and expected failures. The built-in bindings
fit the reference and are used only when `[target] defaults = "reference"`; on any other target an unset binding is
discovered by probing, or the row that needs it is inconclusive (`unbound`).
"""

from conformance.target.agent import REFERENCE_AGENT, AgentBindings
from conformance.target.chain import Chain
from conformance.target.chains import Chains
from conformance.target.gateway import REFERENCE_GATEWAY, Gateway, GatewayBindings
from conformance.target.hub import REFERENCE_ADDONS, REFERENCE_HUB, Addon, Hub, HubBindings
from conformance.target.payer import PayerProgram
from conformance.target.profile import (
    Budgets,
    Claims,
    Clock,
    ExpectedFailure,
    LimitedService,
    NetworkNames,
    Pace,
    Profile,
    Surface,
    Target,
    Tenant,
    Tls,
    load,
    parse,
)
from conformance.target.rail import REFERENCE_RAIL, RailBindings
from conformance.target.tables import ProfileError, Secret
from conformance.target.webhooks import REFERENCE_WEBHOOK, Destination, Receiver, WebhookBindings
from conformance.vocabulary.profile_claims import LANES, OPTIONS, SURFACES

__all__ = [
    "LANES",
    "OPTIONS",
    "REFERENCE_ADDONS",
    "REFERENCE_AGENT",
    "REFERENCE_GATEWAY",
    "REFERENCE_HUB",
    "REFERENCE_RAIL",
    "REFERENCE_WEBHOOK",
    "SURFACES",
    "Addon",
    "AgentBindings",
    "Budgets",
    "Chain",
    "Chains",
    "Claims",
    "Clock",
    "Destination",
    "ExpectedFailure",
    "Gateway",
    "GatewayBindings",
    "Hub",
    "HubBindings",
    "LimitedService",
    "NetworkNames",
    "Pace",
    "PayerProgram",
    "Profile",
    "ProfileError",
    "RailBindings",
    "Receiver",
    "Secret",
    "Surface",
    "Target",
    "Tenant",
    "Tls",
    "WebhookBindings",
    "load",
    "parse",
]
