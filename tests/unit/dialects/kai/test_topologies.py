"""Every rule for a KAI Topology."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.problems import Field, OneOf, Range
from closeknit.hub.sentences import core, kai, wire
from closeknit.hub.topology import Level, Topology
from tests.kit.problems import Finding, finding
from tests.unit.dialects.expected import misspelt, with_suggestions
from tests.unit.dialects.kit import reading, reported


def topology(*levels: dict[str, Any] | str, version: str = "v1alpha1") -> str:
    spec = {"levels": [{"nodeLabel": level} if isinstance(level, str) else level for level in levels]}
    return json.dumps(
        {
            "apiVersion": f"kai.scheduler/{version}",
            "kind": "Topology",
            "metadata": {"name": "t"},
            "spec": spec,
        }
    )


@pytest.mark.requirement("A14", "A47")
@pytest.mark.parametrize("version", ["v1alpha1", "v1"])
def test_levels_keep_their_order_and_aliases_become_names(version: str) -> None:
    text = topology(
        "example.com/zone", {"nodeLabel": "rack", "alias": "r"}, "kubernetes.io/hostname", version=version
    )

    assert reading(text).cluster.topologies == (
        Topology("t", (Level("example.com/zone"), Level("rack", "r"), Level("kubernetes.io/hostname"))),
    )


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            topology(),
            [finding(core.NUMBER_OF, "1:spec.levels", given=0, what=" levels", allowed=Range(1, 16))],
            id="there is at least one level",
        ),
        pytest.param(
            topology(*(f"l{i}" for i in range(17))),
            [finding(core.NUMBER_OF, "1:spec.levels", given=17, what=" levels", allowed=Range(1, 16))],
            id="there are at most sixteen levels",
        ),
        pytest.param(
            topology("a", "b", "a"),
            [
                finding(
                    core.LEVEL_TAKEN,
                    "1:spec.levels[2].nodeLabel",
                    value="a",
                    what="label",
                    field=Field(("spec", "levels", 0)),
                )
            ],
            id="labels are unique",
        ),
        pytest.param(
            topology("kubernetes.io/hostname", "a"),
            [finding(core.HOSTS_NOT_LAST, "1:spec.levels[0].nodeLabel", label="kubernetes.io/hostname")],
            id="the host name can only be the last level",
        ),
        pytest.param(
            topology({"nodeLabel": "a", "alias": "x"}, {"nodeLabel": "b", "alias": "x"}),
            [
                finding(
                    core.LEVEL_TAKEN,
                    "1:spec.levels[1].alias",
                    value="x",
                    what="alias",
                    field=Field(("spec", "levels", 0)),
                )
            ],
            id="aliases are unique",
        ),
        pytest.param(
            topology({"nodeLabel": "a", "alias": "b"}, "b"),
            [finding(kai.ALIAS_IS_A_LABEL, "1:spec.levels[0].alias", alias="b")],
            id="an alias is not a label",
        ),
        pytest.param(
            topology("a b", "x/y/z", "", {"nodeLabel": "c", "alias": "-"}, "n" * 64),
            [
                finding(core.NOT_A_LABEL_KEY, "1:spec.levels[0].nodeLabel", key="a b"),
                finding(core.NOT_A_LABEL_KEY, "1:spec.levels[1].nodeLabel", key="x/y/z"),
                finding(core.NOT_A_LABEL_KEY, "1:spec.levels[2].nodeLabel", key=""),
                finding(core.NOT_A_LABEL_KEY, "1:spec.levels[3].alias", key="-"),
                finding(
                    core.NOT_A_LABEL_KEY,
                    "1:spec.levels[4].nodeLabel",
                    key="n" * 64,
                ),
            ],
            id="labels and aliases are written as label keys",
        ),
        pytest.param(
            topology(f"{'d' * 254}/rack", "Example.com/rack"),
            [
                finding(
                    core.NOT_A_LABEL_KEY,
                    "1:spec.levels[0].nodeLabel",
                    key=f"{'d' * 254}/rack",
                ),
                finding(core.NOT_A_LABEL_KEY, "1:spec.levels[1].nodeLabel", key="Example.com/rack"),
            ],
            id="the domain of a label is a domain",
        ),
        pytest.param(
            topology({"nodeLable": "a"}),
            [
                misspelt("1:spec.levels[0].nodeLable", "nodeLable", "nodeLabel"),
                finding(wire.MISSING_FIELD, "1:spec.levels[0].nodeLabel"),
            ],
            id="a misspelt field is named",
        ),
        pytest.param(
            topology("a", version="v1beta1"),
            [
                finding(
                    wire.UNKNOWN_VERSION,
                    "1:apiVersion",
                    kind="Topology",
                    version="v1beta1",
                    remedy=OneOf("kai.scheduler/v1beta1", ("kai.scheduler/v1", "kai.scheduler/v1alpha1")),
                )
            ],
            id="another version is refused",
        ),
    ],
)
def test_refuses(text: str, want: list[Finding]) -> None:
    assert with_suggestions(reported(text)) == want
    assert reading(text).cluster.topologies == ()


def test_two_topologies_of_one_name_are_refused_whatever_their_versions() -> None:
    assert reported(topology("a"), topology("b", version="v1")) == [
        finding(wire.OBJECT_TWICE, "2:metadata.name", kind="Topology", name="t", origin="f, document 1")
    ]
