"""Grove's objects in the spelling of its first proposal."""

from __future__ import annotations

from collections.abc import Iterable

from closeknit.dialects.family import Object
from closeknit.dialects.grove.legacy_spelling import in_legacy_spelling
from closeknit.hub.problems import Problem
from closeknit.hub.request import Group
from closeknit.hub.sentences import grove
from closeknit.hub.topology import Level, Topology
from tests.kit.problems import finding, findings
from tests.unit.dialects.grove.test_express import again, pods, written


def spelt(objects: Iterable[Object]) -> list[Object]:
    """The objects in the earlier spelling, which must be able to say all of it."""
    found: list[Problem] = []
    made = in_legacy_spelling(objects, found)
    assert found == []
    return made


def test_a_set_in_the_spelling_of_alpha_8() -> None:
    root = Group("ns/w", (Group("a", (pods("a/1"),), required="example.com/topology-rack"),))
    objects = spelt(written(root))
    topology, made = objects

    assert (topology["kind"], topology["metadata"]["name"]) == ("ClusterTopology", "grove-topology")
    assert made["spec"]["template"]["topologyConstraint"] == {"packDomain": "rack"}
    assert again(objects).root.members[0].required == "example.com/topology-rack"  # type: ignore[union-attr]


def test_a_domain_that_did_not_exist_gets_a_name_that_no_level_has() -> None:
    odd = Topology("odd", (Level("z", "zone"), Level("r", "row")))
    topology, made = spelt(written(Group("ns/w", (Group("a", (pods("a/1"),), required="r"),)), odd))

    assert [level["domain"] for level in topology["spec"]["levels"]] == ["zone", "region"]
    assert made["spec"]["template"]["topologyConstraint"] == {"packDomain": "region"}


def test_what_could_not_be_said_before_is_told() -> None:
    wish = Group("ns/w", (Group("a", (pods("a/1"), pods("b")), "z", "example.com/topology-rack"),))
    other = Topology("other", tuple(Level(f"l{i}", f"d{i}") for i in range(8)))
    objects = [*written(wish), *written(Group("ns/w", (Group("a", (pods("a/1"),), "l0"),)), other)]

    problems: list[Problem] = []
    in_legacy_spelling(objects, problems)

    assert findings(problems) == [
        finding(grove.ONE_TOPOLOGY_BEFORE, "ClusterTopologyBinding other", first="tree"),
        finding(grove.TOO_MANY_LEVELS_BEFORE, "ClusterTopologyBinding other", levels=8, most=7),
        finding(
            grove.NO_PREFERENCE_BEFORE,
            "PodCliqueSet w: spec.template.topologyConstraint.pack.preferred",
            level="rack",
        ),
    ]
