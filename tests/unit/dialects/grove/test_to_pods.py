"""The pods that Grove makes of a PodCliqueSet."""

from __future__ import annotations

import pytest

from closeknit.dialects.grove.to_cliques import to_cliques
from closeknit.dialects.grove.to_pods import to_pods
from tests.unit.dialects.grove.sets import (
    SERVING,
    clique,
    group,
    made,
    pod_clique_set,
    pod_spec,
)


def test_pods_are_gated_named_and_told_where_they_belong() -> None:
    pods = {pod["metadata"]["name"]: pod for pod in to_pods(made(SERVING))}
    pod = pods["srv-0-pre-1-work-2"]

    assert len(pods) == 1 + 3 * 4
    assert (
        pod["metadata"]["labels"].items()
        >= {
            "grove.io/podclique": "srv-0-pre-1-work",
            "grove.io/podgang": "srv-0-pre-0",
            "grove.io/base-podgang": "srv-0",
            "grove.io/podclique-pod-index": "2",
            "grove.io/podcliquescalinggroup": "srv-0-pre",
            "kai.scheduler/subgroup-name": "srv-0-pre-1-work",
        }.items()
    )
    assert pod["metadata"]["annotations"] == {
        "pod-group-name": "srv-0-pre-0",
        "kai.scheduler/skip-podgrouper": "true",
    }
    assert pod["spec"]["schedulerName"] == "kai-scheduler"
    assert pod["spec"]["schedulingGates"] == [{"name": "grove.io/podgang-pending-creation"}]
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("srv-0-pre-1-work-2", "srv-0")
    environment = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
    assert environment == {
        "GROVE_PCS_NAME": "srv",
        "GROVE_PCS_INDEX": "0",
        "GROVE_PCLQ_NAME": "srv-0-pre-1-work",
        "GROVE_HEADLESS_SERVICE": "srv-0.default.svc.cluster.local",
        "GROVE_PCSG_NAME": "srv-0-pre",
        "GROVE_PCSG_INDEX": "1",
        "GROVE_PCSG_TEMPLATE_NUM_PODS": "4",
        "GROVE_PCLQ_POD_INDEX": None,
    }
    assert pod["spec"]["containers"][0]["image"] == "model"


def test_a_pod_of_the_base_gang_has_no_base_to_wait_for() -> None:
    pods = {pod["metadata"]["name"]: pod for pod in to_pods(made(SERVING))}

    assert "grove.io/base-podgang" not in pods["srv-0-pre-0-work-0"]["metadata"]["labels"]
    assert "grove.io/podcliquescalinggroup" not in pods["srv-0-router-0"]["metadata"]["labels"]


@pytest.mark.parametrize(
    ("startup", "want"),
    [
        pytest.param("CliqueStartupTypeAnyOrder", {}, id="nobody waits where any order will do"),
        pytest.param(
            "CliqueStartupTypeInOrder",
            {
                "pcs-0-g-0-b": ["pcs-0-a"],
                "pcs-0-g-0-c": ["pcs-0-g-0-b"],
                "pcs-0-g-1-c": ["pcs-0-g-1-b"],
                "pcs-0-d": ["pcs-0-g-0-c"],
            },
            id="in order, each waits for the one before it, in a scaled gang only for its own group",
        ),
        pytest.param(
            "CliqueStartupTypeExplicit",
            {"pcs-0-d": ["pcs-0-g-0-b", "pcs-0-a"]},
            id="explicitly, each waits for whom it names",
        ),
    ],
)
def test_startup_order(startup: str, want: dict[str, list[str]]) -> None:
    text = pod_clique_set(
        clique("a"),
        clique("b"),
        clique("c"),
        clique("d", startsAfter=["b", "a"]),
        groups=[group("g", "b", "c", replicas=2)],
        cliqueStartupType=startup,
    )
    cliques = (each for each in to_cliques(made(text)) if each["kind"] == "PodClique")
    found = {
        each["metadata"]["name"]: each["spec"]["startsAfter"]
        for each in cliques
        if "startsAfter" in each["spec"]
    }

    assert found == want


def test_a_clique_whose_name_ends_like_another_gets_its_own_pods() -> None:
    """Grove looks up the template by the end of a name, so ``b`` may be made like ``a-b``."""
    text = pod_clique_set(clique("a-b", podSpec=pod_spec(8)), clique("b", podSpec=pod_spec(1)))
    found = {each["metadata"]["name"]: each for each in to_cliques(made(text))}

    assert found["pcs-0-a-b"]["spec"]["podSpec"] == pod_spec(8)
    assert found["pcs-0-b"]["spec"]["podSpec"] == pod_spec(1)
