"""What the reporter writes to an embedded cluster, and when."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any, cast

import pytest

from closeknit.hub.copying import replace
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kai as sentences
from closeknit.kube.errors import ForbiddenError, UnavailableError
from closeknit.kube.events import Recorder
from closeknit.kube.port import KubernetesApi, MergePatch
from closeknit.kube.resources import PODS, Resource
from closeknit.scheduler.planning import Verdict
from closeknit.scheduler.preempt.preemptions import Plan
from closeknit.scheduler.status import reports
from closeknit.scheduler.status.reporting import Reporter
from closeknit.scheduler.status.reports import Report, report
from tests.unit.scheduler.reporting_bed import POD_GROUPS, bed
from tests.unit.scheduler.verdicts import NAME, decided, gang, incomplete, invalid

AWAITED = sentences.PODS_AWAITED.at(("spec", "minMember"), minimum=3, existing=1, gated=0)
TWO_SPELLINGS = sentences.TWO_SPELLINGS.at(("spec", "subgroups"))
UNPLACED, PLACED = decided(gang(2)), decided(gang(1))
OUTCOME = "closeknit.dev/outcome"


async def test_a_unit_without_room_is_told_to_its_group_its_pods_and_by_an_event() -> None:
    async with bed() as made:
        made.reporter.waiting(UNPLACED)
        await made.reporter.flush()

        assert await made.scheduled() == ("False", "Unschedulable")
        assert await made.pod_scheduled("train-0") == ("False", "Unschedulable")
        assert await made.pod_scheduled("train-1") == ("False", "Unschedulable")
        assert sorted(await made.events()) == [
            ("train", "Warning", "Unschedulable"),
            ("train-0", "Warning", "FailedScheduling"),
            ("train-1", "Warning", "FailedScheduling"),
        ]
        outcome = await made.outcome()
        assert outcome["status"]["state"] == "unplaceable"
        assert '"status":"unplaceable"' in outcome["status"]["outcome"]
        group = await made.api.get(POD_GROUPS, "train", namespace="default")
        (owner,) = outcome["metadata"]["ownerReferences"]
        assert owner["uid"] == group["metadata"]["uid"]
        assert OUTCOME not in (group["metadata"].get("annotations") or {})


async def test_the_same_reason_again_is_not_written_again() -> None:
    async with bed() as made:
        for _ in range(5):
            made.reporter.waiting(UNPLACED)
            await made.reporter.flush()

        assert sorted(made.api.writes) == [
            "podgroups/train/status",
            "pods/train-0/status",
            "pods/train-1/status",
            "schedulingoutcomes/podgroups.scheduling.run.ai.train",
        ]
        assert len(await made.events()) == 3


async def test_details_that_change_are_written_once_in_a_while_and_not_to_pods() -> None:
    others = decided(gang(2), "z1\n  r1\n    n1: 8\n    n2: 8 used=8:somebody\n  r2\n    n3: 8\n")
    async with bed() as made:
        made.reporter.waiting(UNPLACED)
        await made.reporter.flush()
        made.api.writes.clear()
        for verdict in (others, UNPLACED, others):
            made.reporter.waiting(verdict)
            await made.reporter.flush()
        assert made.api.writes == []

        await made.clock.advance(31)
        await made.reporter.flush()

        assert made.api.writes == [
            "schedulingoutcomes/podgroups.scheduling.run.ai.train",
            "podgroups/train/status",
        ]
        (here,) = (await made.status())["schedulingConditions"]
        assert "somebody" in here["message"]


async def test_another_reason_is_written_at_once() -> None:
    async with bed() as made:
        made.reporter.waiting(UNPLACED)
        await made.reporter.flush()
        made.reporter.placed(PLACED)
        await made.reporter.flush()

        assert await made.scheduled() == ("True", "Scheduled")
        assert ("train", "Normal", "Scheduled") in await made.events()


async def test_nothing_is_changed_after_a_restart_where_the_group_says_so_already() -> None:
    async with bed() as made:
        made.reporter.waiting(UNPLACED)
        await made.reporter.flush()
        before = await made.api.get(POD_GROUPS, "train", namespace="default")
        again = Reporter(
            cast("KubernetesApi", made.api),
            Recorder(
                cast("KubernetesApi", made.api), "c", instance="c-1", random=Random(2), clock=made.clock
            ),
            find=lambda key: made.known.get(key) if key.kind == "PodGroup" else None,
            resource=lambda _: POD_GROUPS,
            random=Random(2),
            clock=made.clock,
        )
        again.waiting(UNPLACED)
        await again.flush()

        assert await made.api.get(POD_GROUPS, "train", namespace="default") == before


async def test_missing_pods_are_waited_for_before_anybody_is_told() -> None:
    async with bed() as made:
        made.reporter.waiting(incomplete(AWAITED))
        await made.reporter.flush()
        assert made.api.writes == []

        await made.clock.advance(1.1)
        await made.reporter.flush()
        assert await made.scheduled() == ("False", "NotReady")


async def test_what_is_wrong_with_a_unit_is_not_told_while_news_of_it_waits_to_be_looked_at() -> None:
    async with bed() as made:
        made.reporter.waiting(incomplete(AWAITED))
        made.outdated = True
        await made.clock.advance(1.1)
        await made.reporter.flush()
        assert made.api.writes == []

        made.outdated = False
        await made.clock.advance(1.1)
        await made.reporter.flush()
        assert await made.scheduled() == ("False", "NotReady")


async def test_what_is_wrong_with_a_unit_that_never_rests_is_told_all_the_same() -> None:
    async with bed() as made:
        made.outdated = True
        made.reporter.waiting(incomplete(AWAITED))
        for _ in range(5):
            await made.clock.advance(1.1)
            made.reporter.waiting(incomplete(AWAITED))
            await made.reporter.flush()

        assert await made.scheduled() == ("False", "NotReady")


async def test_what_is_put_right_in_time_is_never_put_into_words(monkeypatch: pytest.MonkeyPatch) -> None:
    worded: list[Problem] = []

    def message(problem: Problem) -> str:
        worded.append(problem)
        return ""

    monkeypatch.setattr(Problem, "message", property(message))
    async with bed() as made:
        for _ in range(3):
            made.reporter.waiting(incomplete(AWAITED))
        made.reporter.placed(PLACED)
        await made.clock.advance(2)
        await made.reporter.flush()

        assert await made.scheduled() == ("True", "Scheduled")
    assert worded == []


async def test_good_news_waits_for_bindings_but_not_for_ever_and_bad_news_does_not_wait() -> None:
    other = replace(UNPLACED.workload, object=replace(NAME, name="other"))
    async with bed() as made:
        made.busy = True
        made.reporter.placed(PLACED)
        made.reporter.waiting(replace(UNPLACED, workload=other))
        task = asyncio.create_task(made.reporter.run())
        await made.clock.advance(4)
        assert await made.pod_scheduled("train-1") == ("False", "Unschedulable")
        assert await made.scheduled() is None
        await made.clock.advance(2)
        assert await made.scheduled() == ("True", "Scheduled")
        await _stopped(task)


async def test_good_news_that_waits_is_put_into_words_when_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worded: list[Verdict] = []

    def counting(verdict: Verdict, plan: Plan | None = None, evicted_at: str | None = None) -> Report:
        worded.append(verdict)
        return report(verdict, plan, evicted_at)

    monkeypatch.setattr(reports, "report", counting)
    gone = replace(PLACED.workload, object=replace(NAME, name="gone"))
    async with bed() as made:
        made.busy = True
        task = asyncio.create_task(made.reporter.run())
        made.reporter.placed(PLACED)
        made.reporter.placed(replace(PLACED, workload=gone))
        await made.clock.advance(1)
        made.reporter.gone(gone.object.key)
        assert (worded, made.reporter.pending) == ([], 1)
        made.busy = False
        await made.clock.advance(1)
        assert await made.scheduled() == ("True", "Scheduled")
        await _stopped(task)
    assert worded == [PLACED]


async def test_a_server_that_is_away_is_told_later() -> None:
    async with bed() as made:
        made.api.fault = UnavailableError("away")
        made.reporter.waiting(UNPLACED)
        task = asyncio.create_task(made.reporter.run())
        await made.clock.advance(5)
        assert await made.scheduled() is None
        made.api.fault = None
        await made.clock.advance(60)

        assert await made.scheduled() == ("False", "Unschedulable")
        assert await made.pod_scheduled("train-0") == ("False", "Unschedulable")
        assert made.reporter.pending == 0
        await _stopped(task)


async def test_what_is_forbidden_is_counted_and_not_tried_for_ever() -> None:
    async with bed() as made:
        made.api.fault = ForbiddenError("no")
        made.reporter.waiting(UNPLACED)
        await made.reporter.flush()

        assert made.reporter.refused == 3
        assert made.reporter.pending == 0


async def test_a_conflict_is_read_again_and_what_others_wrote_stays() -> None:
    async with bed() as made:
        other = {"type": "Running", "status": "False"}
        await made.api.cluster.patch(
            POD_GROUPS,
            "train",
            MergePatch({"status": {"conditions": [other]}}),
            namespace="default",
            subresource="status",
        )
        made.reporter.waiting(UNPLACED)
        await made.reporter.flush()

        types = [each["type"] for each in (await made.status())["conditions"]]
        assert types == ["Running", "Scheduled", "Unschedulable"]


async def test_a_correction_that_is_held_back_is_made_though_the_same_is_reported_again() -> None:
    async with bed() as made:
        made.reporter.waiting(UNPLACED)
        await made.reporter.flush()
        for _ in range(2):
            removed = MergePatch({"status": {"conditions": None}})
            made.shown = await made.api.cluster.patch(
                POD_GROUPS, "train", removed, namespace="default", subresource="status"
            )
            made.reporter.object_changed(NAME.key)
            await made.clock.advance(1)
            await made.reporter.flush()
        # The second correction waits, because others keep changing the object.
        assert await made.scheduled() is None
        made.reporter.waiting(UNPLACED)
        await made.clock.advance(5)
        await made.reporter.flush()

        assert await made.scheduled() == ("False", "Unschedulable")


async def test_a_pod_that_is_bound_while_it_is_told_to_wait_says_that_it_is_bound() -> None:
    async with bed() as made:
        patch, bound = made.api.patch, list[str]()

        async def late(resource: Resource, name: str, *args: Any, **kwargs: Any) -> Any:
            if resource is PODS and name == "train-0" and not bound:
                bound.append(name)
                made.reporter.placed(PLACED)
                await made.api.cluster.bind("train-0", "n1", namespace="default")
            return await patch(resource, name, *args, **kwargs)

        made.api.patch = late  # type: ignore[method-assign]
        made.reporter.waiting(UNPLACED)
        await made.reporter.flush()

        assert await made.pod_scheduled("train-0") == ("True", "")


async def test_a_bound_pod_is_corrected_whose_report_arrived_without_an_answer() -> None:
    async with bed() as made:
        patch, lost = made.api.patch, list[str]()

        async def unanswered(resource: Resource, name: str, *args: Any, **kwargs: Any) -> Any:
            if resource is not PODS or name != "train-0" or lost:
                return await patch(resource, name, *args, **kwargs)
            lost.append(name)
            await made.api.cluster.bind(name, "n1", namespace="default")
            await patch(resource, name, *args, **kwargs)
            raise UnavailableError("away")

        made.api.patch = unanswered  # type: ignore[method-assign]
        made.reporter.waiting(UNPLACED)
        await made.reporter.flush()
        assert await made.pod_scheduled("train-0") == ("False", "Unschedulable")
        made.reporter.placed(PLACED)
        await made.clock.advance(2)
        await made.reporter.flush()

        assert await made.pod_scheduled("train-0") == ("True", "")


async def test_units_of_one_object_are_told_by_its_events_under_their_own_names() -> None:
    async with bed() as made:
        first, second = (
            replace(UNPLACED.workload, object=replace(NAME, name=f"train.{number}"), maker=NAME.key)
            for number in range(2)
        )
        made.reporter.waiting(replace(UNPLACED, workload=first))
        made.reporter.waiting(replace(UNPLACED, workload=second))
        await made.reporter.flush()

        told = [event for event in await made.events() if event[0] == "train"]
        assert told == [("train", "Warning", "Unschedulable")] * 2
        assert {write for write in made.api.writes if write.startswith("podgroups")} == set()


async def test_the_pods_of_a_unit_that_cannot_be_read_are_told_why() -> None:
    async with bed() as made:
        made.pods = ["train-1"]
        made.reporter.waiting(invalid(TWO_SPELLINGS))
        await made.clock.advance(1.1)
        await made.reporter.flush()

        assert await made.pod_scheduled("train-0") is None
        assert await made.pod_scheduled("train-1") == ("False", "Unschedulable")


async def test_a_unit_that_goes_when_its_report_is_about_to_be_written_is_no_error() -> None:
    async with bed() as made:
        made.reporter.waiting(UNPLACED)
        made.reporter._begin(busy=False)
        made.reporter.gone(NAME.key)
        ended = await asyncio.gather(*made.reporter._tasks, return_exceptions=True)

        assert ended == [None] * 3
        assert made.api.writes == []


async def test_nothing_is_told_about_a_unit_that_is_gone() -> None:
    async with bed() as made:
        made.reporter.waiting(UNPLACED)
        made.reporter.gone(NAME.key)
        await made.reporter.flush()

        assert made.api.writes == []


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
