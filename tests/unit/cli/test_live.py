"""What of a cluster is read, and what is said of what cannot be read."""

from __future__ import annotations

from typing import Any

from closeknit.dialects import Served, read
from closeknit.kube.errors import ForbiddenError, GoneError, NotFoundError
from closeknit.kube.port import Page
from tests.unit.cli.on_clusters import NODES_AND_PODS, Refusing, snapshot


def test_kinds_that_may_not_be_listed_are_passed_over_with_the_verb_that_is_missing() -> None:
    refusal = ForbiddenError('pods is forbidden: User "v" cannot list resource "pods" at the cluster scope')

    found = snapshot(Refusing(pods=refusal, nodes=[{"metadata": {"name": "n"}}]), NODES_AND_PODS)

    assert found.served.objects == [{"metadata": {"name": "n"}}]
    (note,) = found.unread
    assert note.startswith("Pod ")
    assert str(refusal) in note
    assert '"list" on pods' in note


def test_who_may_read_one_namespace_reads_that_one() -> None:
    def answer(namespace: str, *_: Any) -> Any:
        return [{"metadata": {"name": "p"}}] if namespace == "team" else ForbiddenError("no.")

    found = snapshot(Refusing(pods=answer), NODES_AND_PODS)

    assert found.served.objects == [{"metadata": {"name": "p"}}]
    (note,) = found.unread
    assert note.startswith("Pod ")
    assert "namespace team" in note
    assert '"list" on pods' in note


def test_a_kind_that_is_served_in_other_versions_alone_is_passed_over() -> None:
    (note,) = snapshot(Refusing()).unread
    assert note.startswith("Topology (kai.scheduler) ")
    for fact in ("the cluster (context c)", "v9", "v1, v1alpha1"):
        assert fact in note


def test_a_kind_that_goes_away_meanwhile_is_passed_over() -> None:
    found = snapshot(Refusing(pods=NotFoundError("gone")), NODES_AND_PODS)

    (note,) = found.unread
    assert note.startswith("Pod ")
    assert "the cluster (context c)" in note


def test_pages_that_are_forgotten_meanwhile_are_read_in_one_piece() -> None:
    def answer(_: str, limit: int, token: str) -> Any:
        if token:
            return GoneError("too old")
        names = range(600 if not limit else 500)
        items = [{"metadata": {"name": f"p{i}"}} for i in names]
        return Page(items, "1", token="" if not limit else "more", remaining=None if not limit else 100)

    api = Refusing(pods=answer)

    assert len(snapshot(api, NODES_AND_PODS).served.objects) == 600
    assert ("pods", "", 0) in api.asked


def test_fields_that_are_null_are_read_as_missing() -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "managedFields": [{}], "creationTimestamp": None},
        "spec": {"taints": None},
        "status": {"allocatable": {"pods": "5"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    found = snapshot(Refusing(nodes=[node]), NODES_AND_PODS)

    reading = read([found.served])
    assert "managedFields" not in found.served.objects[0]["metadata"]
    assert reading.problems == ()
    assert [each.name for each in reading.cluster.nodes] == ["n"]


def test_unknown_fields_of_a_cluster_are_no_problem() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "newField": 1}, "spec": {"nwe": 1}}

    assert read([Served("c", [node])]).problems == ()
