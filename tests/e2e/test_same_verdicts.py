"""Objects that are damaged at random are refused alike by kube-apiserver and by the embedded cluster."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from random import Random

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import AlreadyExistsError
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import NAMESPACES
from closeknit.kube.rest import connect, load_access
from closeknit.testing.control_plane import ControlPlane
from tests.conformance.manifests import Example, damaged, define, examples, verdict

pytestmark = pytest.mark.e2e

NAMESPACE = "verdicts"
DAMAGED = 500


@pytest.fixture
async def real(plane: ControlPlane) -> AsyncIterator[KubernetesApi]:
    async with connect(load_access(kubeconfig=str(plane.kubeconfig))) as api:
        yield api


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_damaged_objects_get_the_same_verdict_on_both(real: KubernetesApi, seed: int) -> None:
    embedded = EmbeddedCluster()
    kinds = []
    for api in (real, embedded):
        with suppress(AlreadyExistsError):
            await api.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        kinds.append(await define(api))
    random = Random(seed)
    # One kind as often as another, however many nodes the examples hold.
    by_kind: dict[tuple[str, str], list[Example]] = {}
    for each in examples():
        if each.kind in kinds[0]:
            by_kind.setdefault(each.kind, []).append(each)
    differing: list[str] = []
    said: Counter[str] = Counter()
    for number in range(DAMAGED):
        kind = sorted(by_kind)[number % len(by_kind)]
        example = random.choice(by_kind[kind])
        what, obj = damaged(example.obj, random)
        theirs, ours = await asyncio.gather(
            verdict(real, kinds[0][kind], obj, NAMESPACE), verdict(embedded, kinds[1][kind], obj, NAMESPACE)
        )
        said[theirs] += 1
        if theirs != ours:
            differing.append(f"{example.place} ({kind[1]}): {what}: real {theirs}, embedded {ours}")
    await embedded.close()

    assert differing == []
    assert said["accepted"] > 50
    assert DAMAGED - said["accepted"] > 100
