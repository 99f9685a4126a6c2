"""PodGroups as workloads: those in the store, and those that KAI would make of Jobs and the like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from closeknit.apis import scheduling_run_ai_v2alpha2 as wire
from closeknit.apis.closeknit_keys import SHARED_DOMAIN
from closeknit.apis.kai_keys import NODE_POOL
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.dialects.compiling import known_topologies, topologies_of
from closeknit.dialects.core.assumed_pods import (
    MissingPods,
    pods_missing,
    pods_not_there,
    too_few_given,
)
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.notes import tolerated
from closeknit.dialects.core.pods import MOST_PODS, Shape, Stage, read_template, template_problems
from closeknit.dialects.core.priority import created, preempts, priority_of
from closeknit.dialects.core.time_limits import time_limit
from closeknit.dialects.family import Compiled
from closeknit.dialects.kai.constraints import Constraints, constraints
from closeknit.dialects.kai.implicit_groups import ImplicitGroup, Leaf
from closeknit.dialects.kai.joining import expected_members
from closeknit.dialects.kai.members import (
    Members,
    leaf_pods,
    leaf_pods_of_implicit,
    members,
    members_of_implicit,
    task_priority_problems,
    too_many_assumed,
)
from closeknit.dialects.kai.node_pools import in_pool, unlabelled_nodes
from closeknit.dialects.kai.owners import check_joining, condensed_groups, implicit_groups, owner_named
from closeknit.dialects.kai.queueing import check_declared_run_time, grace_period, preemption_delay, queued
from closeknit.dialects.kai.queues import queue_problems
from closeknit.dialects.kai.rules import minimum_problems, share_problems
from closeknit.dialects.kai.running_apart import running_apart
from closeknit.dialects.kai.shared_domains import domain_in_use, inside, leader_of, level_of, sharing
from closeknit.dialects.kai.subgroups import Tree, tree
from closeknit.dialects.kai.terms import PRIORITIES, GroupTerms, group_terms, leaves_of
from closeknit.dialects.kai.topologies import FAMILY
from closeknit.dialects.ownership import pods_of
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.many_problems import first_of
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem, parted
from closeknit.hub.request import Group, Request
from closeknit.hub.workload import Companions, RunningPod, Workload, WorkloadBase


class ReadGroup(msgspec.Struct, frozen=True, gc=False):
    """A PodGroup with all that was made of it."""

    workload: Workload | None
    """None for a valid one that is only judged, or that a cluster which is only read has too few pods of."""
    problems: tuple[Problem, ...]
    """What is wrong with the object that it was made from."""
    of_pods: tuple[Reported, ...]
    """What is wrong with its pods as members."""
    request: Request | None
    """What it asks for, also where nothing but its queue is wrong."""
    notes: tuple[Problem, ...] = ()
    """What is worth knowing about it."""
    refusals: tuple[Problem, ...] = ()
    """Why it cannot be placed, without pods that files do not give; a cluster's missing pods are included."""


def compile_pod_group(group: Stored[wire.PodGroup], view: View) -> Compiled:
    """What a PodGroup asks for."""
    read = view.derive(read_pod_group, group.key)
    if read.workload is None:
        return Compiled((), read.problems, read.of_pods, notes=read.notes)
    return Compiled((read.workload,), read.problems, read.of_pods)


def compile_owner(stored: Stored[Any], view: View) -> Compiled:
    """What a Job, JobSet, LeaderWorkerSet or PyTorchJob asks for, if KAI groups its pods."""
    read = [each for _, each in view.derive(read_implicit_groups, stored.key)]
    owner = view.derive(owner_named, stored.key)
    assert owner is not None
    overruled = (tolerated(each, lenient=view.lenient) for each in owner.overruled())
    # One owner may have many PodGroups, and a problem of the owner is reported once.
    problems = dict.fromkeys(problem for each in read for problem in each.problems)
    own = (*overruled, *check_joining(stored, view), *problems)
    workloads = tuple(group.workload for group in read if group.workload is not None)
    # Notes in the order of the groups, whether these are workloads or only judged.
    notes = tuple(note for group in read for note in group.notes) if view.judging else ()
    return Compiled(workloads, own, notes=notes)


def read_pod_group(view: View, key: Key) -> ReadGroup:
    """Read a PodGroup and the pods that belong to it.

    Where there are subgroups, a ``minMember`` of the PodGroup itself counts for nothing, as in KAI. Pods are
    assumed where none are given, unless the PodGroup comes from a cluster, which has its pods as well.
    """
    stored, terms = view.get(key), view.derive(group_terms, key)
    assert stored is not None
    spec: wire.PodGroupSpec = stored.content.spec
    name = workload_name(stored.namespace, stored.name)
    found = list(terms.problems)
    of_spec = terms.of_spec
    subgroups, levels = of_spec.subgroups, of_spec.levels
    pods = pods_of(view, key, FAMILY)
    present = members(pods, name, subgroups)
    found.extend(task_priority_problems(present))
    # A cluster that is only read leaves out a PodGroup without its pods, with a note.
    ours = view.schedulers is not None
    live = ours or stored.live
    expected = {} if live else expected_members(view, key, pods, found)
    lacking = (pods_missing if ours else pods_not_there) if live else too_few_given
    awaited: list[Problem] = [] if live else found
    missing: list[MissingPods] = []
    assumed = None if live else terms.assumed
    groups: Mapping[str, Group] = {}
    if view.judging:
        if not live and _at_most(spec, subgroups) > MOST_PODS:
            found.extend(too_many_assumed(leaves_of(spec, subgroups), subgroups))
    else:
        groups = leaf_pods(
            name,
            of_spec.leaves,
            present,
            assumed,
            expected,
            tree=subgroups,
            lacking=lacking,
            found=awaited,
            missing=missing,
        )
    whole = _without_unformed(spec, subgroups, groups, present) if live else subgroups
    found.extend(awaited if whole is None else ())
    lacks_pods = whole is None and not ours
    pool = stored.content.metadata.labels.get(NODE_POOL, "")
    found.extend(unlabelled_nodes(view, levels))
    found.extend(running_apart(view, subgroups, levels, present))
    base = terms.workload
    limited: Callable[[Group], Group] = _not_limited
    if ours and not view.judging and SHARED_DOMAIN in stored.content.metadata.annotations:
        base, limited = _sharing_a_domain(view, stored, terms, present)
    return _judged(
        stored,
        base,
        found,
        wrong_queue=of_spec.wrong_queue,
        present=present,
        missing=missing if not live or (ours and whole is None) else (),
        complete=lambda: has_minimum(spec, subgroups, of_spec.leaves, present),
        live=live,
        root=name,
        request=lambda: (
            None
            if lacks_pods or view.judging
            else Request(
                name,
                limited(in_pool(pool, _root(spec, name, whole or subgroups, levels, groups))),
                levels.topology,
            )
        ),
    )


def _not_limited(root: Group) -> Group:
    return root


def _sharing_a_domain(
    view: View, group: Stored[wire.PodGroup], terms: GroupTerms, present: Members
) -> tuple[WorkloadBase, Callable[[Group], Group]]:
    """The workload of a PodGroup that shares a domain with others, and what limits its request to it."""
    base, leader = terms.workload, leader_of(group)
    topology = terms.of_spec.levels.topology
    level = level_of(view, group, topology)
    runs = any(pod.stage is Stage.RUNNING for pods in present.by_leaf.values() for pod in pods)
    if leader is None or topology is None or level is None or runs:
        # Its own pods that run keep the others in their domain.
        return base, _not_limited
    domain = view.derive(domain_in_use, leader, topology, level)
    if domain is not None:
        known = view.derive(topologies_of, FAMILY)[topology]
        return base, lambda root: inside(root, domain, known)
    if group.key != leader:
        return base, _not_limited
    others = tuple(key for key in view.derive(sharing, leader) if key != leader)
    groups = tuple(root for key in others if (root := view.derive(companion, key, topology)) is not None)
    return replace(base, companions=Companions(level, groups) if groups else None), _not_limited


def companion(view: View, key: Key, topology: str) -> Group | None:
    """The request of a PodGroup that is scheduled later, from its pods or what is assumed of them.

    Its groups have names that no other PodGroup's have. None if something is wrong with it.
    """
    stored, terms = view.get(key), view.derive(group_terms, key)
    assert stored is not None
    of_spec = terms.of_spec
    if terms.problems or of_spec.levels.topology not in (None, topology):
        return None
    spec, name = stored.content.spec, workload_name(stored.namespace, stored.name)
    found: list[Problem] = []
    present = members(pods_of(view, key, FAMILY, all_waiting=True), name, of_spec.subgroups)
    groups = leaf_pods(
        name,
        of_spec.leaves,
        present,
        terms.assumed,
        {},
        tree=of_spec.subgroups,
        lacking=too_few_given,
        found=found,
        missing=[],
    )
    if found or present.problems:
        return None
    pool = stored.content.metadata.labels.get(NODE_POOL, "")
    root = in_pool(pool, _root(spec, name, of_spec.subgroups, of_spec.levels, groups))
    return root.mapped(
        lambda pods: replace(pods, name=f"{name}/{pods.name}"),
        lambda group: replace(group, name=f"{name}/{group.name}"),
    )


def read_implicit_groups(view: View, key: Key) -> tuple[tuple[ImplicitGroup, ReadGroup], ...]:
    """The PodGroups that KAI would make of an owner, with the pods that they have already."""
    stored = view.get(key)
    assert stored is not None
    if view.judging and (few := view.derive(condensed_groups, key)) is not None:
        read = tuple((made, _read_implicit(view, stored, made)) for made in few)
        if not any(group.workload is not None or group.notes for _, group in read):
            return read
    return tuple((made, _read_implicit(view, stored, made)) for made in view.derive(implicit_groups, key))


def _read_implicit(view: View, stored: Stored[Any], made: ImplicitGroup) -> ReadGroup:
    name = workload_name(stored.namespace, made.name)
    found = list(made.problems)
    spec = made.spec()
    broken: list[Problem] = []
    subgroups = tree(spec, broken)
    broken.extend(minimum_problems(spec, subgroups))
    # The rules for subgroups are kept by what makes them; should one be broken, its owner is to blame.
    found.extend(replace(problem, path=("spec",)) for problem in (() if found else broken))
    known = view.derive(known_topologies, FAMILY, Topology)
    levels = constraints(spec, subgroups, known, made.fields(), found)
    priority = priority_of(view, made.priority_class, made.priority_path, found, PRIORITIES)
    since = created(stored, found)
    check_declared_run_time(stored, found)
    pods = [*pods_of(view, made.key, FAMILY)]
    if not view.judging:
        pods += (pod for controller in made.outline.controllers for pod in pods_of(view, controller, ""))
    present = members_of_implicit(pods, made)
    live = view.schedulers is not None
    awaited: list[Problem] = [] if live else found
    missing: list[MissingPods] = []
    found.extend(first_of(_template_problems(made, stored.namespace)))
    groups = leaf_pods_of_implicit(
        name,
        made,
        present,
        _shapes(stored.namespace),
        awaited,
        missing=missing,
        live=live,
        judging=view.judging,
    )
    whole = _without_unformed(spec, subgroups, groups, present) if live else subgroups
    found.extend(awaited if whole is None else ())
    found.extend(unlabelled_nodes(view, levels))
    found.extend(running_apart(view, subgroups, levels, present))
    # The owner's own name, and behind a dot which of its PodGroups is meant if it has several.
    suffix = made.outline.suffix
    named = replace(made.owner, name=f"{made.owner.name}.{suffix[1:]}") if suffix else made.owner
    return _judged(
        stored,
        queued(
            view,
            WorkloadBase(
                named,
                FAMILY,
                priority=priority,
                preempts=preempts(view, made.priority_class),
                created=since,
                grace_period=grace_period(made.passed_on.get("stalenessGracePeriod", "")),
                preemption_delay=preemption_delay(made.passed_on.get("preemptionDelay", "")),
                maker=stored.key,
            ),
            made.queue,
            made.passed_on.get("preemptibility", ""),
        ),
        list(dict.fromkeys(found)),
        wrong_queue=list(queue_problems(view, made.queue, made.queue_path)),
        present=present,
        missing=missing if whole is None else (),
        complete=lambda: has_minimum(
            spec, subgroups, {leaf.name: leaf.minimum for leaf in made.leaves()}, present
        ),
        live=live,
        root=name,
        request=lambda: (
            None
            if view.judging
            else Request(
                name,
                in_pool(made.pool, _root(spec, name, whole or subgroups, levels, groups)),
                levels.topology,
            )
        ),
    )


def _judged(
    stored: Stored[Any],
    base: WorkloadBase,
    found: Sequence[Problem],
    *,
    wrong_queue: Sequence[Problem],
    present: Members,
    missing: Sequence[MissingPods],
    complete: Callable[[], bool],
    live: bool,
    root: str,
    request: Callable[[], Request | None],
) -> ReadGroup:
    """The workload with its request, or with everything that is wrong with it.

    What states that pods are ``missing`` is among what was ``found``. ``complete`` is only called for a
    workload that is invalid.
    """
    (own, notes), (of_pods, of_members), (of_queue, queue) = map(
        parted, (found, present.problems, wrong_queue)
    )
    broken = (*stored.problems, *own, *of_pods)
    asked = None if broken else request()
    problems = (*broken, *of_queue)
    all_notes = (*notes, *of_members, *queue)
    running = tuple(
        sorted(
            RunningPod(leaf or root, pod.name)
            for leaf, pods in present.by_leaf.items()
            for pod in pods
            if pod.stage is Stage.RUNNING
        )
    )
    limit = time_limit(stored, (pod for pods in present.by_leaf.values() for pod in pods))
    if limit is not None:
        base = replace(base, run_seconds=limit)
    workload: Workload | None = None
    others = problems
    if problems:
        stated = {pods.problem for pods in missing}
        others = tuple(problem for problem in problems if problem not in stated)
        fewest = min((pods.count for pods in missing), default=0)
        base = replace(base, notes=all_notes, running=running)
        if others:
            workload = base.invalid(problems, missing_pods=fewest, complete=complete())
        else:
            workload = base.incomplete(problems, missing_pods=fewest)
    elif asked is not None:
        workload = base.placeable(asked, notes=all_notes, running=running)
    refusals = problems if live else others
    return ReadGroup(workload, (*own, *of_queue), present.reported, asked, all_notes, refusals)


def has_minimum(
    spec: wire.PodGroupSpec, subgroups: Tree, leaves: Mapping[str, int], present: Members
) -> bool:
    """Whether there are pods that have nodes or have succeeded, and all that must run together do so."""
    started = {
        leaf: sum(pod.stage in (Stage.RUNNING, Stage.SUCCEEDED) for pod in pods)
        for leaf, pods in present.by_leaf.items()
    }

    def has(name: str) -> bool:
        children = subgroups.children[name]
        if not children:
            return started.get(name, 0) >= leaves.get(name, 1)
        least = subgroups.subgroups[name].min_sub_group if name else spec.min_sub_group
        return sum(map(has, children)) >= (len(children) if least is None else least)

    return any(started.values()) and has("")


def _without_unformed(
    spec: wire.PodGroupSpec, subgroups: Tree, groups: Mapping[str, Group], present: Members
) -> Tree | None:
    """The tree without the subgroups that lack pods, where enough others are left; None where too few are.

    One that has running pods is never left out: the rest has to stay near them.
    """

    def formed(name: str) -> bool:
        children = subgroups.children[name]
        if not children:
            return name in groups
        least = subgroups.subgroups[name].min_sub_group if name else spec.min_sub_group
        good = kept[name] = tuple(child for child in children if formed(child))
        if any(runs(child) for child in children if child not in good):
            return False
        return len(good) >= (len(children) if least is None else least)

    def runs(name: str) -> bool:
        inner = subgroups.leaves(name) if subgroups.children[name] else (name,)
        return any(pod.stage is Stage.RUNNING for leaf in inner for pod in present.by_leaf.get(leaf, ()))

    kept: dict[str, tuple[str, ...]] = {}
    if not formed(""):
        return None
    return replace(subgroups, children={**subgroups.children, **kept}) if kept else subgroups


def _at_most(spec: wire.PodGroupSpec, subgroups: Tree) -> int:
    """No fewer than the sum of all minimums, found without looking for the leaves."""
    inner = [least for each in subgroups.subgroups.values() if (least := each.min_member) and least > 0]
    return sum(inner, max(spec.min_member or 0, 0))


def _template_problems(made: ImplicitGroup, namespace: str) -> Iterator[Problem]:
    """What is wrong with the templates of all leaves."""
    for path, given in {leaf.template.path: leaf.template.given for leaf in made.leaves()}.items():
        yield from template_problems(given.spec, path, namespace=namespace, labels=given.metadata.labels)
        for problem in share_problems(given.metadata.annotations) if given.metadata.annotations else ():
            yield problem.under(*path)


def _shapes(namespace: str) -> Callable[[Leaf], Shape]:
    """What each pod of a leaf asks for; leaves of one template ask for the same."""
    known: dict[Path, Shape] = {}

    def shape_of(leaf: Leaf) -> Shape:
        path, given = leaf.template.path, leaf.template.given
        if path not in known:
            read = read_template(given.spec, namespace=namespace, labels=given.metadata.labels)
            known[path] = read.shape
        return known[path]

    return shape_of


def _root(
    spec: wire.PodGroupSpec, name: str, subgroups: Tree, levels: Constraints, leaves: Mapping[str, Group]
) -> Group:
    """The hub's tree; nesting was limited when the subgroups were read."""

    def built(subgroup: str) -> Group:
        own = levels.levels[subgroup]
        if not subgroups.children[subgroup]:
            return own.group(subgroup or name, leaves[subgroup].members, leaves[subgroup].minimum)
        children = [built(child) for child in sorted(subgroups.children[subgroup])]
        given = subgroups.subgroups[subgroup] if subgroup else spec
        return own.group(subgroup or name, children, given.min_sub_group)

    return built("")
