"""What Grove's operator does with its configuration before its controllers begin."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import structlog

from closeknit.apis.closeknit_keys import START_IMAGE
from closeknit.apis.grove_io_v1alpha1 import ClusterTopologyBinding, TopologyLevel
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.operator_config_grove_io_v1alpha1 import (
    OperatorConfiguration,
    TopologyAwareSchedulingConfiguration,
)
from closeknit.controllers.grove.startup import start
from closeknit.controllers.grove.topologies import not_owned
from closeknit.dialects.store.objects import Stored
from closeknit.hub.keys import Key
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import grove
from closeknit.hub.workload import ObjectName
from closeknit.kube.port import KubernetesApi
from closeknit.testing.controlling import Controlled, controlling
from closeknit.testing.faulty_api import Fault
from tests.kit.problems import Finding, finding, findings
from tests.scenario.groves import OPERATORS, binding, clique, clique_set, condition, packed
from tests.unit.dialects.grove.expected import not_a_domain

GROUP, KIND = "operator.config.grove.io", "OperatorConfiguration"


def configuration(*domains: str, enabled: bool = True, image: str = "") -> list[Stored[Any]]:
    levels = tuple(TopologyLevel(domain=each, key=f"topology/{each}") for each in domains)
    switch = TopologyAwareSchedulingConfiguration(enabled=enabled, levels=levels or None)
    content = OperatorConfiguration(
        api_version=f"{GROUP}/v1alpha1",
        kind=KIND,
        metadata=ObjectMeta(annotations={START_IMAGE: image} if image else {}),
        topology_aware_scheduling=switch,
    )
    return [
        Stored(Key(GROUP, KIND, "", "#0"), ObjectName(content.api_version, KIND, "default", "#0"), content)
    ]


async def topology(cluster: Controlled) -> tuple[list[str], list[str]]:
    """The levels of Grove's topology, and those of KAI's."""
    ours = (await cluster.get("ClusterTopologyBinding", "grove-topology"))["spec"]["levels"]
    theirs = (await cluster.get("Topology", "grove-topology"))["spec"]["levels"]
    return [each["domain"] for each in ours], [each["nodeLabel"] for each in theirs]


@pytest.mark.requirement("G12", "G13", "G15", "G16", "G20")
async def test_the_configured_topology_is_written_and_written_anew_after_a_restart(
    real: KubernetesApi | None,
) -> None:
    async with controlling(OPERATORS, settings=configuration("rack", "zone"), real=real) as cluster:
        await cluster.quiet()
        assert await topology(cluster) == (["zone", "rack"], ["topology/zone", "topology/rack"])
        made = await cluster.get("Topology", "grove-topology")
        assert made["metadata"]["ownerReferences"][0]["name"] == "grove-topology"
        assert made["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "closeknit"
        await cluster.restart(settings=configuration("zone", "block", "rack"))
        await cluster.quiet()
        assert len((await topology(cluster))[1]) == 3
        assert (await cluster.get("Topology", "grove-topology"))["metadata"]["uid"] != made["metadata"]["uid"]
        written = len(cluster.writes)
        await cluster.restart()
        await cluster.quiet()
        assert all(each.startswith("patch ClusterTopologyBinding") for each in cluster.writes[written:])


@pytest.mark.requirement("G18", "G62")
async def test_switched_off_the_configured_topology_goes_and_sets_go_on_without_it(
    real: KubernetesApi | None,
) -> None:
    given = clique_set("web", clique("worker"), topologyConstraint=packed("grove-topology", "rack"))
    async with controlling(OPERATORS, settings=configuration("zone", "rack"), real=real) as cluster:
        await cluster.quiet()
        await cluster.create(given)
        await cluster.quiet()
        await cluster.restart(settings=configuration(enabled=False))
        await cluster.quiet()
        assert await cluster.names("ClusterTopologyBinding") == await cluster.names("Topology") == []
        told = await condition(cluster, "PodCliqueSet", "web", "TopologyLevelsUnavailable")
        assert (told["status"], told["reason"]) == ("Unknown", "TopologyAwareSchedulingDisabled")
        assert "topologyConstraint" not in (await cluster.get("PodGang", "web-0"))["spec"]


async def test_switched_off_a_topology_of_somebody_else_stays() -> None:
    async with controlling(OPERATORS, binding("grove-topology", "zone")) as cluster:
        await cluster.restart(settings=configuration(enabled=False))
        await cluster.quiet()
        assert await cluster.names("ClusterTopologyBinding") == ["grove-topology"]


FOREIGN = {
    "apiVersion": "kai.scheduler/v1alpha1",
    "kind": "Topology",
    "metadata": {"name": "grove-topology"},
    "spec": {"levels": [{"nodeLabel": "other"}]},
}


LEVELS = "topologyAwareScheduling.levels"
NO_CONNECTION = "The connection broke."
"""What the client reports of a write that was not sent."""
MANAGED = Stored(
    Key("grove.io", "ClusterTopologyBinding", "", "grove-topology"),
    ObjectName("grove.io/v1alpha1", "ClusterTopologyBinding", "", "grove-topology"),
    msgspec.convert(binding("grove-topology", "zone"), ClusterTopologyBinding),
)
"""The binding that is made from the configuration."""


def not_written(reason: str) -> Finding:
    """The configured topology could not be written."""
    return finding(grove.TOPOLOGY_NOT_WRITTEN, name="grove-topology", reason=reason)


@pytest.mark.parametrize(
    ("settings", "there", "point", "want"),
    [
        pytest.param(
            configuration(),
            (),
            None,
            finding(grove.CONFIGURED_WITHOUT_LEVELS, LEVELS),
            id="no levels, and no binding in the cluster",
        ),
        pytest.param(
            configuration("zone", "galaxy"),
            (),
            None,
            not_a_domain(f"{LEVELS}[1].domain", "galaxy"),
            id="a domain that there is not",
        ),
        pytest.param(
            configuration("zone"),
            (FOREIGN,),
            None,
            not_written(not_owned(MANAGED)),
            id="KAI's Topology is another's",
        ),
        pytest.param(
            configuration("zone"), (), 0, not_written(NO_CONNECTION), id="the binding cannot be written"
        ),
        pytest.param(
            configuration("zone"), (), 1, not_written(NO_CONNECTION), id="KAI's Topology cannot be created"
        ),
    ],
)
@pytest.mark.requirement("G4", "G10", "G17")
async def test_where_the_topology_cannot_be_written_the_operator_does_not_start(
    settings: list[Stored[Any]], there: tuple[dict[str, Any], ...], point: int | None, want: Finding
) -> None:
    async with controlling([], *there, point=point, fault=Fault.UNSENT) as cluster:
        log = structlog.wrap_logger(structlog.ReturnLogger())
        with pytest.raises(InvalidError) as error:
            await start(cluster.api, settings, log)
        assert findings(error.value.problems) == [want]


@pytest.mark.requirement("G17")
async def test_a_topology_that_cannot_be_deleted_keeps_the_operator_from_starting(
    real: KubernetesApi | None,
) -> None:
    async with controlling([], point=2, fault=Fault.UNSENT, real=real) as cluster:
        log = structlog.wrap_logger(structlog.ReturnLogger())
        await start(cluster.api, configuration("zone"), log)
        with pytest.raises(InvalidError) as error:
            await start(cluster.api, configuration("zone", "rack"), log)
        assert findings(error.value.problems) == [not_written(NO_CONNECTION)]


@pytest.mark.requirement("G19")
async def test_a_failure_to_delete_is_logged_and_no_more(
    real: KubernetesApi | None,
) -> None:
    said: list[str] = []

    class Log:
        def info(self, event: str, **_: Any) -> None:
            said.append(event)

        def warning(self, event: str, **_: Any) -> None:
            said.append(f"warning: {event}")

    async with controlling([], point=2, fault=Fault.UNSENT, real=real) as cluster:
        await start(cluster.api, configuration("zone"), Log())
        await start(cluster.api, configuration(enabled=False), Log())
        assert said == ["topology synchronized", "warning: topology not deleted"]
        assert await cluster.names("ClusterTopologyBinding") == ["grove-topology"]


async def test_an_image_for_it_makes_pods_wait_in_an_init_container() -> None:
    given = clique_set(
        "web", clique("first", 2), clique("second"), cliqueStartupType="CliqueStartupTypeInOrder"
    )
    async with controlling(OPERATORS, given, settings=configuration(enabled=False, image="own")) as cluster:
        await cluster.quiet()
        (waits,) = (await cluster.get("Pod", "web-0-second-0"))["spec"]["initContainers"]
        assert (waits["image"], waits["command"][-1]) == ("own", "web-0-first-0,web-0-first-1:2")
        assert "initContainers" not in (await cluster.get("Pod", "web-0-first-0"))["spec"]
