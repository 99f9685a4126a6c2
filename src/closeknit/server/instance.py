"""The map of one cluster with all that belongs to it: what is followed, what is believed, and who is told."""

from __future__ import annotations

import asyncio
import ssl
import time
from random import Random

from closeknit.dialects import DIALECTS
from closeknit.dialects.lone_pods import SCHEDULERS
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.port import KubernetesApi
from closeknit.live.containment import Containment
from closeknit.live.failure_log import FailureLog
from closeknit.live.following import Following, kinds_read
from closeknit.live.log import UNLOGGED, Log
from closeknit.live.supervision import supervised
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.status.outcomes import KIND as OUTCOME_KIND
from closeknit.server.access import Access
from closeknit.server.app import MapServer
from closeknit.server.live_map import SHOWN_FAMILIES, LiveMap


class MapInstance:
    """Follows a cluster and serves its map, until cancelled. It reads and never writes.

    It keeps a state of its own: the scheduler's shows pods that are about to be bound, and has other readers.
    """

    def __init__(
        self,
        api: KubernetesApi,
        *,
        random: Random,
        host: str = "127.0.0.1",
        port: int = 0,
        access: Access | None = None,
        tls: ssl.SSLContext | None = None,
        following: Following | None = None,
        schedulers: frozenset[str] = SCHEDULERS,
        clock: Clock = SYSTEM_CLOCK,
        log: Log = UNLOGGED,
    ) -> None:
        """``log``: where failures of objects are logged.

        ``schedulers``: single pods that name one of these are workloads; those of others use nodes.
        """
        self._log, self._random, self._clock = log, random, clock
        self._kinds = kinds_read(DIALECTS, (OUTCOME_KIND,))
        self._own = following is None
        self._following = following or Following(api, self._kinds, clock=clock, random=random)
        self.state = ClusterState(SHOWN_FAMILIES, schedulers, containment=Containment("map", FailureLog(log)))
        self.live = LiveMap(self.state, time=time.time, generation=int(time.time()))
        self.server = MapServer(self.live, host=host, port=port, access=access, tls=tls)

    async def run(self) -> None:
        """Follow and serve. ``server.start`` comes first, so that its address is known."""
        with self._following.listening(self.live.announced, self._kinds, self.server.changed.set):
            work = [self._following.run()] if self._own else []
            await asyncio.gather(*work, self._tell())

    async def _tell(self) -> None:
        """Keep the map up to date, whatever fails for one object."""
        await supervised(
            self.server.tell,
            self.state.containment,
            log=self._log,
            random=self._random,
            clock=self._clock,
        )
