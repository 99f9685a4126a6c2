"""What of a cluster is read, and what is said of what cannot be read."""

from __future__ import annotations

import asyncio
from typing import Any

from closeknit.cli import live
from closeknit.cli.clusters import AskedCluster
from closeknit.cli.loading import working
from closeknit.dialects import KINDS, Served, read
from closeknit.kube.errors import ForbiddenError, GoneError, NotFoundError
from closeknit.kube.port import Page
from closeknit.kube.resources import NODES, PODS, Resource


class Refusing:
    """A cluster that serves nodes and pods, and does with each list what it is told."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str, int]] = []

    async def resources(self) -> tuple[Resource, ...]:
        return (PODS, NODES, Resource("kai.scheduler", "v9", "topologies", "Topology", namespaced=False))

    async def list(self, resource: Resource, selection: Any, *, limit: int = 0, token: str = "") -> Page[Any]:
        self.asked.append((resource.plural, selection.namespace, limit))
        answer = self.answers.get(resource.plural, [])
        if callable(answer):
            answer = answer(selection.namespace, limit, token)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Page) else Page(answer, "1")


def snapshot(api: Refusing, kinds: Any = KINDS) -> live.Snapshot:
    cluster = AskedCluster(api, "the cluster (context c)", "team")  # type: ignore[arg-type]
    with working("", big=False) as progress:
        return asyncio.run(live.read_cluster(cluster, progress, kinds))


NODES_AND_PODS = [kind for kind in KINDS if kind.kind in ("Node", "Pod")]


def test_kinds_that_may_not_be_listed_are_passed_over_with_the_verb_that_is_missing() -> None:
    refusal = ForbiddenError('pods is forbidden: User "v" cannot list resource "pods" at the cluster scope')

    found = snapshot(Refusing(pods=refusal, nodes=[{"metadata": {"name": "n"}}]), NODES_AND_PODS)

    assert found.served.objects == [{"metadata": {"name": "n"}}]
    assert found.unread == (
        'Pod is passed over: pods is forbidden: User "v" cannot list resource "pods" at the cluster scope.'
        ' Grant the verb "list" on pods to read them.',
    )


def test_who_may_read_one_namespace_reads_that_one() -> None:
    def answer(namespace: str, *_: Any) -> Any:
        return [{"metadata": {"name": "p"}}] if namespace == "team" else ForbiddenError("no.")

    found = snapshot(Refusing(pods=answer), NODES_AND_PODS)

    assert found.served.objects == [{"metadata": {"name": "p"}}]
    assert found.unread == (
        'Pod is read in namespace team only: no. Grant the verb "list" on pods to read them.',
    )


def test_a_kind_that_is_served_in_other_versions_alone_is_passed_over() -> None:
    assert snapshot(Refusing()).unread == (
        "Topology (kai.scheduler) is passed over: the cluster (context c) serves it in v9, and it is read in"
        " v1, v1alpha1.",
    )


def test_a_kind_that_goes_away_meanwhile_is_passed_over() -> None:
    found = snapshot(Refusing(pods=NotFoundError("gone")), NODES_AND_PODS)

    assert found.unread == ("Pod is passed over: the cluster (context c) no longer serves pods.",)


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
