"""The checkout of one gateway: its parts, its routes, and its watchers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from quart import Quart

from reference.gateway.checkout.link_actions import LinkActions
from reference.gateway.checkout.link_announcements import LinkAnnouncements
from reference.gateway.checkout.link_settlement import LinkSettlement
from reference.gateway.checkout.page import Page
from reference.gateway.checkout.routes import Routes
from reference.gateway.checkout.settlement_attestations import Attestor
from reference.gateway.checkout.watcher import Watcher
from reference.gateway.merchant_branding import Storefronts
from reference.gateway.network_recency import NetworkRecency
from reference.gateway.rate_limits import Limits
from reference.gateway.settings import GatewaySettings
from reference.lanes.lane import ChainUnavailable, Lane
from reference.store.change_tracker import activity_of
from reference.store.database import Database, DatabaseUnavailable
from reference.web.clock import WpClock
from reference.web.logs import get_logger

_log = get_logger()
# A worker that watches nothing looks for links of other workers in this interval. The worker that makes a link watches
# it from the start, so the interval counts only if that one dies. It is shorter than the time by which watchers look
# back for new links.
_IDLE_SECONDS = 30.0


class Checkout:
    """Serves the pages of links and watches the chains for their payments."""

    def __init__(
        self,
        settings: GatewaySettings,
        clock: WpClock,
        database: Database,
        lanes: Mapping[str, Lane],
        recency: NetworkRecency,
        limits: Limits,
        attestor: Attestor,
        storefronts: Storefronts,
    ) -> None:
        """Put the parts together.

        Args:
            settings: The settings of the process.
            clock: The service's clock.
            database: Where links and payments are.
            lanes: Networks that have a node, by key; one that is added later is watched from then on.
            recency: Says whether a network's links can be paid now.
            limits: Charges calls.
            attestor: Attests payments.
            storefronts: What the page shows of tenants.
        """
        announcements = LinkAnnouncements()
        settlement = LinkSettlement(settings, clock, database, announcements, recency)
        self._every = settings.chain_poll_seconds
        self._clock = clock
        self._activity = activity_of(database)
        self._lanes = lanes
        self._watcher = partial(Watcher, settings, clock, settlement)
        self._watchers = {key: self._watcher(lane) for key, lane in lanes.items()}
        actions = LinkActions(settings, clock, settlement, lanes, self._watchers, attestor)
        page = Page(settings, clock, settlement)
        self._routes = Routes(settings, settlement, announcements, page, actions, limits, storefronts)

    def add_routes(self, app: Quart) -> None:
        """Add the routes below /checkout/ to an app."""
        self._routes.add_to(app)

    async def watch(self) -> None:
        """Watch every network, each at its own pace, until cancelled."""
        watched_keys: set[str] = set()
        # One task for each network, so that a slow node delays only its own links.
        async with asyncio.TaskGroup() as tasks:
            while True:
                # A node that did not answer at the start is checked later, and its lane is added then (`runtime`).
                for key in [key for key in self._lanes if key not in watched_keys]:
                    watched_keys.add(key)
                    watcher = self._watchers.setdefault(key, self._watcher(self._lanes[key]))
                    tasks.create_task(self._watch(watcher))
                await asyncio.sleep(self._every)

    async def _watch(self, watcher: Watcher) -> None:
        """Watch one network for ever. A fault is logged once, and the round is repeated."""
        fault = ""
        while True:
            try:
                await watcher.run_round()
            except (ChainUnavailable, DatabaseUnavailable) as away:
                fault = _log_if_new("watching_waits", watcher.network, fault, f"{type(away).__name__}: {away}")
            except Exception as unplanned:  # noqa: BLE001 - no fault may end the watching
                fault = _log_if_new("watching_failed", watcher.network, fault, repr(unplanned))
            else:
                fault = ""
            # After a fault the database or the node is asked again soon.
            await (asyncio.sleep(self._every) if fault else self._wait(watcher))

    async def _wait(self, watcher: Watcher) -> None:
        """Wait for the next round of a network: for long, if there is nothing to watch and no link is made here."""
        is_idle = not (watcher.is_watching or self._clock.is_moved or self._activity.is_recent(_IDLE_SECONDS))
        if is_idle:
            await self._activity.wait(max(self._every, _IDLE_SECONDS))
        else:
            await asyncio.sleep(self._every)


def _log_if_new(event: str, network: str, last: str, fault: str) -> str:
    # A node that is down fails every second. One line for each new fault keeps the log readable.
    if fault != last:
        _log.error(event, network=network, fault=fault)
    return fault
