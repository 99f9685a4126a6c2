"""Server-side apply in the embedded cluster: who owns which field."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.kube import errors
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import (
    ApplyPatch,
    MergePatch,
)
from closeknit.kube.resources import (
    CONFIG_MAPS,
    PODS,
)
from tests.unit.kube.embedded.objects import config_map, pod


class TestApply:
    async def test_what_is_no_longer_applied_goes_away(self, cluster: EmbeddedCluster) -> None:
        await self.apply(cluster, {"a": "1", "b": "1"})
        await self.apply(cluster, {"a": "1"})

        assert (await cluster.get(CONFIG_MAPS, "a", namespace="default"))["data"] == {"a": "1"}

    async def test_fields_of_others_stay(self, cluster: EmbeddedCluster) -> None:
        await self.apply(cluster, {"a": "1"})
        await self.apply(cluster, {"b": "1"}, manager="other")
        await self.apply(cluster, {})

        assert (await cluster.get(CONFIG_MAPS, "a", namespace="default"))["data"] == {"b": "1"}

    async def test_a_field_of_another_manager_is_a_conflict_that_names_it(
        self, cluster: EmbeddedCluster
    ) -> None:
        await self.apply(cluster, {"a": "1"})

        with pytest.raises(errors.ConflictError) as caught:
            await self.apply(cluster, {"a": "2"}, manager="other")

        assert str(caught.value) == 'Apply failed with 1 conflict: conflict with "mine": .data.a'
        assert [(cause.field, cause.reason) for cause in caught.value.status.causes] == [
            (".data.a", "FieldManagerConflict")
        ]

    async def test_force_takes_the_field_over(self, cluster: EmbeddedCluster) -> None:
        await self.apply(cluster, {"a": "1"})
        changed = await self.apply(cluster, {"a": "2"}, manager="other", force=True)

        owners = {one["manager"]: one["fieldsV1"] for one in changed["metadata"]["managedFields"]}
        assert changed["data"] == {"a": "2"}
        assert owners == {"other": {"f:data": {"f:a": {}}}}

    async def test_the_same_value_is_shared(self, cluster: EmbeddedCluster) -> None:
        await self.apply(cluster, {"a": "1"})
        await self.apply(cluster, {"a": "1"}, manager="other")
        await self.apply(cluster, {})

        assert (await cluster.get(CONFIG_MAPS, "a", namespace="default"))["data"] == {"a": "1"}

    async def test_applying_the_same_again_makes_no_version(self, cluster: EmbeddedCluster) -> None:
        first = await self.apply(cluster, {"a": "1"})

        assert await self.apply(cluster, {"a": "1"}) == first

    async def test_an_update_takes_what_it_changes(self, cluster: EmbeddedCluster) -> None:
        await self.apply(cluster, {"a": "1", "b": "1"})
        changed = await cluster.patch(
            CONFIG_MAPS, "a", MergePatch({"data": {"a": "2"}}), namespace="default", field_manager="kubectl"
        )

        owners = {one["manager"]: one["fieldsV1"] for one in changed["metadata"]["managedFields"]}
        assert owners == {"mine": {"f:data": {"f:b": {}}}, "kubectl": {"f:data": {"f:a": {}}}}

    async def test_items_of_a_keyed_list_are_owned_one_by_one(self, cluster: EmbeddedCluster) -> None:
        body = pod("p")
        await cluster.patch(PODS, "p", ApplyPatch(body, "mine"), namespace="default")
        both = {**body, "spec": {"containers": [{"name": "main", "image": "other"}]}}

        with pytest.raises(errors.ConflictError, match=r'\.spec\.containers\[name="main"\]\.image'):
            await cluster.patch(PODS, "p", ApplyPatch(both, "other"), namespace="default")

    @staticmethod
    async def apply(
        cluster: EmbeddedCluster, data: dict[str, str], *, manager: str = "mine", force: bool = False
    ) -> dict[str, Any]:
        body = config_map("a", data=data) if data else config_map("a")
        patch = ApplyPatch(body, manager, force=force)
        written: dict[str, Any] = await cluster.patch(CONFIG_MAPS, "a", patch, namespace="default")
        return written
