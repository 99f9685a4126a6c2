"""The program of an init container: it ends when as many of the named pods are ready as must be.

``python -m closeknit.live.waiting a-0,a-1:2 b-0:1`` asks for pods of its own namespace, as the pod's service
account, which must be allowed to get pods there.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.errors import ApiError, NotFoundError
from closeknit.kube.port import KubernetesApi, Object
from closeknit.kube.resources import PODS
from closeknit.kube.start_order import Earlier, missing, parse

_PAUSE = 2.0
"""Seconds between two looks."""


async def wait(
    api: KubernetesApi, namespace: str, earlier: Sequence[Earlier], *, clock: Clock = SYSTEM_CLOCK
) -> None:
    """Return when enough of the named pods are ready; tell what is missing whenever that changes."""
    before: list[str] = []
    while True:
        try:
            found = {name: await _pod(api, namespace, name) for each in earlier for name in each.pods}
            said = missing(earlier, found.get)
        except ApiError as error:
            said = [str(error)]
        if not said:
            return
        if said != before:
            sys.stderr.write(f"Waiting: {'; '.join(said)}.\n")
        before = said
        await clock.sleep(_PAUSE)


async def _pod(api: KubernetesApi, namespace: str, name: str) -> Object | None:
    try:
        return await api.get(PODS, name, namespace=namespace)
    except NotFoundError:
        return None


async def _main(arguments: Sequence[str]) -> None:
    from closeknit.kube.rest import connect, load_access  # noqa: PLC0415 (only the program needs it)

    earlier = parse(" ".join(arguments))
    access = load_access()
    async with connect(access, component="waiting") as api:
        await wait(api, access.namespace or "default", earlier)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1:]))
