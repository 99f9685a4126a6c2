"""Depth-first search over the request tree: which domain each group gets.

Every choice that matters is tried unless a bound shows that it cannot lead to a
better placement, or symmetry shows that an equal choice was tried before. So a
search that ends by itself has either found a best placement or shown that there
is none; one that runs out of steps says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from closeknit.engine import floor, pool, score
from closeknit.engine.candidates import Candidates, Loads
from closeknit.engine.layout import Color, Content, Layouts
from closeknit.engine.pack import OutOfBudgetError, Steps
from closeknit.engine.problem import Heed, Knot, Leaf, Part, Problem, choices, need_of
from closeknit.engine.score import Spread
from closeknit.engine.tree import Ints
from closeknit.hub.outcome import Wishes

_BITS = 24
"""Room for one count in a packed cost; more than any cluster has nodes."""

_SMALL = 2048
"""Nodes up to which counting over all of them costs less than a step of the search."""
_FIRST_TRY = 400
"""Steps after which it is time to ask whether there is any placement at all."""
_FEW = 8
"""Steps of a search that is over as soon as it has begun: one group, one domain."""
_COMPARED = 64
"""Nodes up to which domains are compared with each other, node by node."""
_PATIENCE = 24
"""Steps after which a bound over the whole cluster is worth its cost."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a search may go on, in counted steps."""

    find: int = 100_000
    """Steps until a first placement is found."""
    improve: int = 4_000
    """Work after that until it is proven best: a step weighs more the more nodes it looks at."""


@dataclass(slots=True)
class Found:
    """What a search came to."""

    spread: Spread | None
    """The best placement found, None where there is none."""
    wishes: Wishes | None
    complete: bool
    """Whether the search ended by itself."""
    steps: int
    candidates: int


def find(problem: Problem, bare: Callable[[], Problem], free: Ints, budget: Budget) -> Found:
    """Search for the best placement; where none turns up soon, find out first whether there is any.

    ``bare`` makes the same problem without its wishes. Without the branches that wishes make,
    a request that cannot be placed is found out much sooner.
    """
    first = Search(problem, free, replace(budget, find=min(budget.find, _FIRST_TRY))).run()
    if first.spread is not None or first.complete:
        return first
    any_ = Search(bare(), free, budget).run()
    steps, examined = first.steps + any_.steps, first.candidates + any_.candidates
    if any_.spread is None:
        return Found(None, None, any_.complete, steps, examined)
    best = Search(problem, free, budget).run(any_.spread)
    return Found(best.spread, best.wishes, best.complete, steps + best.steps, examined + best.candidates)


@dataclass(slots=True)
class _Task:
    """A group that waits for its domain inside a domain already decided."""

    knot: Knot
    level: int
    domain: int
    colors: tuple[int, ...]
    struck: dict[int, set[int]] = field(default_factory=dict)
    """By level, domains that an exchangeable sibling has been through already."""


class Search:
    """One search over one problem. The ledger must not change meanwhile."""

    def __init__(self, problem: Problem, free: Ints, budget: Budget) -> None:
        self._problem = problem
        self._tree = tree = problem.tree
        self._free = free
        self._budget = budget
        self._steps = Steps(budget.find)
        self._fields = 1 + tree.depth + tree.depth + 1
        weights = [1 << (_BITS * (self._fields - 1 - i)) for i in range(self._fields)]
        self._weight_left_out = weights[0]
        self._weight_preferences = weights[1 : 1 + tree.depth]
        self._weight_domains = weights[1 + tree.depth :]
        self._layouts = Layouts(problem, free, self._weight_domains, weights[0], self._weight_preferences)
        self._agenda: list[_Task] = []
        self._contents: list[Content] = []
        self._colors: list[Color] = []
        self._loads: Loads = {}
        running = sorted({position for leaf in problem.leaves for position in leaf.bound})
        self._used: list[dict[int, int]] = []
        for level in range(tree.depth + 1):
            domains = tree.dom[level][np.array(running, dtype=np.int64)].tolist()
            self._used.append({domain: domains.count(domain) for domain in dict.fromkeys(domains)})
        self._add_load(-1, 0, problem.root.need)
        self._open_pods = list(problem.root.open)
        """Per shape, the pods asked for, less those of members left out."""
        self._pool = pool.Pool(problem, free)
        self._left_out = 0
        self._preferences = [0] * tree.depth
        self._failures = [0] * len(problem.knots)
        self._best: list[int] | None = None
        self._found_at = 0
        self._spread: Spread | None = None
        self._wishes: Wishes | None = None
        self._sure = True
        """Whether nothing was passed over without proof."""
        self._examined = 0
        self._heft = 1 + len(tree) // 50
        """What a step weighs: whole levels are compared in each."""
        self._floor: list[int] | None = None
        choosing = sum(max(knot.required, knot.preferred) >= 0 for knot in problem.knots)
        self._guide = floor.guide(problem, self._pool) if choosing > 1 else None
        """Where several groups choose, a domain that could take them all and would need the fewest pieces for it."""
        self._signatures: dict[tuple[int, int], object] = {}

    def run(self, known: Spread | None = None) -> Found:
        """Search until done or out of budget, for something better than a placement already known."""
        complete = True
        root = self._problem.root
        try:
            if known is not None:
                self._keep(known)
            if not self._pinned_apart():
                self._explore([_Task(root, -1, 0, ())])
        except OutOfBudgetError:
            complete = False
        except _Done:
            complete = self._sure = True
        return Found(
            self._spread, self._wishes, complete and self._sure, self._steps.taken, self._examined
        )

    def _pinned_apart(self) -> bool:
        """Whether running pods already break a requirement."""
        for knot in self._problem.knots:
            if knot.required >= 0 and knot.bound:
                bound = np.array(knot.bound, dtype=np.int64)
                if score.shared_level(self._tree, bound) < knot.required:
                    return True
        return False

    # ---- going down the request tree ----

    def _explore(self, agenda: list[_Task]) -> None:
        if not agenda:
            self._finish()
            return
        at = self._pick(agenda)
        task, rest = agenda[at], agenda[:at] + agenda[at + 1 :]
        tried: dict[int, set[int]] = {}
        found_before = self._best
        for level, domain, distance in self._options(task, rest):
            self._steps.take(self._heft)
            self._enter(task, level, domain, distance, rest, tried)
            tried.setdefault(level, set()).add(domain)
        if self._best is found_before:
            # Whoever failed goes earlier next time: most dead ends come from one demanding group.
            self._failures[task.knot.index] += 1

    def _pick(self, agenda: list[_Task]) -> int:
        def urgency(i: int) -> tuple[bool, int, int, int, str]:
            task = agenda[i]
            knot = task.knot
            free_choice = max(knot.required, knot.preferred) > task.level
            return (free_choice, -self._failures[knot.index], -knot.size, -sum(knot.open), knot.name)

        return min(range(len(agenda)), key=urgency)

    def _options(self, task: _Task, rest: list[_Task]) -> Iterator[tuple[int, int, int]]:
        """Levels and domains to try for a group, with the distance from its preference; best first."""
        knot = task.knot
        base = max(knot.required, task.level)
        top = max(knot.preferred, base)
        if top == task.level:
            yield task.level, task.domain, self._distance(knot, task.level)
            return
        siblings = [0] * len(self._problem.tables)
        for other in rest:
            if (other.level, other.domain) == (task.level, task.domain):
                siblings = [a + b for a, b in zip(siblings, other.knot.need, strict=True)]
        tried: list[tuple[int, int]] = []
        for level, stream in self._ladder(task, base, top, siblings):
            yield from self._drain(task, stream, level, self._distance(knot, level), tried)
        if base == task.level and self._hopeful(knot, self._distance(knot, base)):
            yield task.level, task.domain, self._distance(knot, base)

    @staticmethod
    def _distance(knot: Knot, level: int) -> int:
        """How far a domain of a level is from what a group prefers."""
        return max(knot.preferred - level, 0) if knot.preferred >= 0 else 0

    def _ladder(self, task: _Task, base: int, top: int, siblings: list[int]) -> Iterator[tuple[int, Candidates]]:
        """Levels to try and their candidates: from the preferred one up to the required one."""

        def rung(level: int) -> Candidates:
            stream = Candidates(
                self._problem,
                knot,
                (task.level, task.domain),
                level,
                self._loads,
                self._used,
                siblings,
                self._guide,
            )
            for struck in task.struck.get(level, ()):
                stream.strike(struck)
            return stream

        knot = task.knot
        levels = range(top, max(base, task.level + 1) - 1, -1)
        if knot.open == knot.need:
            for level in levels:
                if self._hopeful(knot, self._distance(knot, level)):
                    yield level, rung(level)
            return
        # A finer level is closer to the preference, but pods left out weigh more than any preference.
        rungs = [(level, stream) for level in levels if len(stream := rung(level))]
        yield from sorted(rungs, key=lambda rung: (rung[1].least_left_out(), -rung[0]))

    def _drain(
        self, task: _Task, stream: Candidates, level: int, distance: int, tried: list[tuple[int, int]]
    ) -> Iterator[tuple[int, int, int]]:
        seen: set[object] | None = None
        while True:
            self._strike_hopeless(stream, task.knot, level, distance)
            domain = stream.next()
            if domain is None:
                return
            self._examined += 1
            if tried:
                # Comparing looks costs more than most first tries, so it waits for the second.
                if seen is None:
                    seen = {(at, self._signature(task, at, before)) for at, before in tried}
                signature = (level, self._signature(task, level, domain))
                if signature in seen:
                    continue
                seen.add(signature)
            tried.append((level, domain))
            yield level, domain, distance

    def _strike_hopeless(self, stream: Candidates, knot: Knot, level: int, distance: int) -> None:
        """Take candidates out of the stream whose bounds reach the best placement known."""
        if self._best is None:
            return
        base, depth = self._so_far(), self._tree.depth
        floor_ = [0] * self._fields

        def bound(field: int, own: Ints | int) -> Ints | int:
            if field == 0:
                # Pods that a candidate leaves out may be among those that the cluster lacks room for.
                value = _larger(own + self._left_out, base[0])
            elif field <= depth:
                value = base[field] + (distance if knot.preferred == field - 1 else 0)
            elif field - 1 - depth <= level:
                value = own + base[field]
            else:
                value = _larger(own, base[field])
            return _larger(value, floor_[field])

        stream.strike_hopeless(self._best, bound)
        if len(stream):
            # The bound over the whole cluster costs more, so it is asked for what is left.
            floor_ = self._lower()
            stream.strike_hopeless(self._best, bound)

    def _signature(self, task: _Task, level: int, domain: int) -> object:
        """Equal for candidates between which nothing can tell, as far as is worth finding out."""
        tree = self._tree
        marks: list[object] = []
        for at in range(task.level + 1, level + 1):
            around = tree.above(level, domain, at)
            marks.append(self._look(at, around))
        return tuple(marks)

    def _look(self, level: int, domain: int) -> object:
        """What a domain looks like; its own number where it is in use or too large to compare."""
        if domain in self._used[level] or (level, domain) in self._loads:
            return domain
        key = (level, domain)
        known = self._signatures.get(key)
        if known is None:
            start, end = self._tree.bounds(level, domain)
            known = (domain,) if end - start > _COMPARED else ("like", self._content(level, domain))
            self._signatures[key] = known
        return known

    def _content(self, level: int, domain: int) -> object:
        tree, problem = self._tree, self._problem
        if level == tree.depth:
            slot = int(tree.slots[domain])
            fits = tuple(int(table.fit[domain]) for table in problem.tables)
            prices = tuple(int(t.price[domain]) if t.price is not None else 0 for t in problem.tables)
            return (fits, prices, tuple(int(self._free[row, slot]) for row in problem.rows))
        first, last = tree.span(level, domain, level + 1)
        inner = sorted((self._content(level + 1, child) for child in range(first, last)), key=repr)
        return (bool(tree.real[level][domain]), tuple(inner))

    # ---- making and unmaking a choice ----

    def _enter(
        self, task: _Task, level: int, domain: int, distance: int, rest: list[_Task], tried: dict[int, set[int]]
    ) -> None:
        knot = task.knot
        colors = task.colors
        if distance and level < 0:
            distance = knot.preferred + 1
            running = frozenset(self._tree.dom[knot.preferred][np.array(knot.bound, dtype=np.int64)].tolist())
            colors = (*colors, len(self._colors))
            self._colors.append(Color(knot.preferred, running))
            distance += len(running)
        marked = self._mark(knot, task.level, level, domain)
        if distance:
            self._preferences[knot.preferred] += distance
        if self._fits_by_sum(task.level, level, domain) and self._hopeful():
            following = self._inherit_struck(knot, rest, task, tried)
            self._open(knot, level, domain, colors, following)
        if distance:
            self._preferences[knot.preferred] -= distance
        self._unmark(knot, task.level, level, domain, marked)
        if colors is not task.colors:
            self._colors.pop()

    def _inherit_struck(
        self, knot: Knot, rest: list[_Task], task: _Task, tried: dict[int, set[int]]
    ) -> list[_Task]:
        """Siblings that can be exchanged with this group need not try what it has been through."""
        if not tried:
            return rest
        following = []
        for other in rest:
            if other.knot.twin == knot.twin and (other.level, other.domain) == (task.level, task.domain):
                struck = {level: set(domains) for level, domains in other.struck.items()}
                for level, domains in tried.items():
                    struck.setdefault(level, set()).update(domains)
                other = _Task(other.knot, other.level, other.domain, other.colors, struck)
            following.append(other)
        return following

    def _mark(self, knot: Knot, above: int, level: int, domain: int) -> bool:
        """Note what the group will take of the domains between its parent's and its own."""
        uses = bool(knot.size)
        for at in range(max(above + 1, 0), level + 1):
            around = self._tree.above(level, domain, at)
            load = self._loads.get((at, around))
            if load is None:
                load = self._loads[at, around] = [0] * len(self._problem.tables)
            for shape, need in enumerate(knot.need):
                load[shape] += need
        if uses:
            for at in range(level + 1):
                around = self._tree.above(level, domain, at)
                self._used[at][around] = self._used[at].get(around, 0) + 1
        return uses

    def _unmark(self, knot: Knot, above: int, level: int, domain: int, uses: bool) -> None:
        for at in range(max(above + 1, 0), level + 1):
            around = self._tree.above(level, domain, at)
            load = self._loads.get((at, around))
            if load is None:
                # Nothing but zeros was noted here, and was tidied away meanwhile.
                continue
            for shape, need in enumerate(knot.need):
                load[shape] -= need
            if not any(load):
                del self._loads[at, around]
        if uses:
            for at in range(level + 1):
                around = self._tree.above(level, domain, at)
                self._used[at][around] -= 1
                if not self._used[at][around]:
                    del self._used[at][around]

    def _fits_by_sum(self, above: int, level: int, domain: int) -> bool:
        """Whether the free amounts of each domain on the way cover what is confined to it."""
        problem = self._problem
        if len(problem.tables) == 1:
            return True
        for at in range(max(above + 1, 0), level + 1):
            around = self._tree.above(level, domain, at)
            load = self._loads.get((at, around))
            if load is None:
                continue
            start, end = self._tree.bounds(at, around)
            slots = self._tree.slots[start:end]
            for i, row in enumerate(problem.rows):
                wanted = sum(count * problem.demand[shape][i] for shape, count in enumerate(load))
                # Sums in floating point cannot overflow; the margin keeps rounding on the safe side.
                free = float(self._free[row, slots].clip(0).sum(dtype=np.float64))
                if wanted > free * (1 + 1e-9):
                    return False
        return True

    def _open(self, knot: Knot, level: int, domain: int, colors: tuple[int, ...], rest: list[_Task]) -> None:
        """Hand the decided domain to the members, for each way to choose which of them to form."""
        for members, left_out in choices(knot, self._problem.heed):
            self._steps.take()
            self._left_out += left_out
            added = self._extra_need(knot, members)
            self._add_load(level, domain, added)
            dropped = self._drop(knot, members)
            if self._covered(level, domain) and self._hopeful():
                tasks, before = list(rest), len(self._contents)
                for part in members:
                    if isinstance(part, Leaf):
                        if part.open:
                            self._contents.append(Content(level, domain, part, colors))
                    else:
                        tasks.append(_Task(part, level, domain, colors))
                if self._contents_fit(before):
                    self._explore(tasks)
                del self._contents[before:]
            self._drop_back(dropped)
            self._add_load(level, domain, [-extra for extra in added])
            self._left_out -= left_out

    def _extra_need(self, knot: Knot, members: list[Part]) -> list[int]:
        """What the chosen members need beyond what was counted for the group before they were chosen."""
        need = [0] * len(self._problem.tables)
        for part in members:
            for shape, count in enumerate(need_of(part, len(need))):
                need[shape] += count
        return [now - before for now, before in zip(need, knot.need, strict=True)]

    def _drop(self, knot: Knot, members: list[Part]) -> list[int]:
        """Note per shape how many pods are no longer asked for because their members were left out."""
        dropped = [0] * len(self._open_pods)
        if len(members) != len(knot.members):
            kept = {part.name for part in members}
            for part in knot.members:
                if part.name not in kept:
                    for leaf in [part] if isinstance(part, Leaf) else part.leaves:
                        dropped[leaf.shape] += leaf.open
            self._open_pods = [a - b for a, b in zip(self._open_pods, dropped, strict=True)]
        return dropped

    def _drop_back(self, dropped: list[int]) -> None:
        if any(dropped):
            self._open_pods = [a + b for a, b in zip(self._open_pods, dropped, strict=True)]

    def _covered(self, level: int, domain: int) -> bool:
        """Whether each domain on the way up takes what is confined to it, one shape at a time and all together."""
        tables = self._problem.tables
        for at in range(-1, level + 1):
            around = self._tree.above(level, domain, at)
            load = self._loads.get((at, around))
            if load is None:
                continue
            if any(count > tables[shape].capacity(at, around) for shape, count in enumerate(load) if count):
                return False
        whole = self._loads.get((-1, 0))
        if whole is None or len(tables) == 1 or not self._drags_on():
            return True
        return sum(whole) <= self._pool.total

    def _add_load(self, level: int, domain: int, added: list[int]) -> None:
        if not any(added):
            return
        for at in range(-1, level + 1):
            around = self._tree.above(level, domain, at)
            load = self._loads.setdefault((at, around), [0] * len(added))
            for shape, extra in enumerate(added):
                load[shape] += extra
            if not any(load):
                del self._loads[at, around]

    def _contents_fit(self, before: int) -> bool:
        """Whether the domains that just got pods can still lay out all that is confined to them, each by itself."""
        checked: set[tuple[int, int]] = set()
        for content in self._contents[before:]:
            at = (content.level, content.domain)
            if at in checked or content.level < 0:
                continue
            checked.add(at)
            start, end = self._tree.bounds(*at)
            if end - start > 64 or (len(self._contents) == 1 and not self._agenda):
                continue
            inside = [
                other
                for other in self._contents
                if other.level >= content.level and self._tree.above(other.level, other.domain, at[0]) == at[1]
            ]
            try:
                if self._layouts.lay_out(*at, inside, self._colors, self._steps) is None:
                    return False
            except OutOfBudgetError:
                if self._steps.used_up:
                    raise
        return True

    # ---- bounds ----

    def _so_far(self) -> list[int]:
        """What the choices made so far cost at least, field by field."""
        domains = [len(self._used[level]) for level in range(self._tree.depth + 1)]
        tables = self._problem.tables
        short = sum(max(count - tables[shape].total, 0) for shape, count in enumerate(self._open_pods))
        if len(tables) > 1 and self._drags_on():
            short = max(short, sum(self._open_pods) - self._pool.total)
        return [self._left_out + short, *self._preferences, *domains]

    def _hopeful(self, knot: Knot | None = None, distance: int = 0) -> bool:
        """Whether the choices made so far, and a distance yet to be added, can still beat the best placement known."""
        if self._best is None:
            return True
        fields = self._so_far()
        if knot is not None and distance:
            fields[1 + knot.preferred] += distance
        # The first comparison is cheap, and mostly enough.
        return fields < self._best and [max(a, b) for a, b in zip(fields, self._lower(), strict=True)] < self._best

    def _lower(self) -> list[int]:
        """What any placement of the request costs at least, field by field.

        Counting over a large cluster takes longer than most searches, so it waits until one drags on.
        """
        if self._floor is None:
            if self._best is None or not self._drags_on():
                return [0] * self._fields
            self._floor = floor.fields(self._problem, self._pool, self._best)
        return self._floor

    def _drags_on(self) -> bool:
        return len(self._tree) <= _SMALL or self._steps.work - self._found_at > _PATIENCE

    # ---- the end of a branch ----

    def _finish(self) -> None:
        """All groups have their domains: lay out the pods, and keep the placement if it is the best so far."""
        self._steps.take()
        layouts = []
        for level, domain, inside in self._layouts.components(self._contents):
            start, end = self._tree.bounds(level, domain)
            self._steps.work += (end - start) // 4
            try:
                layout = self._layouts.lay_out(level, domain, inside, self._colors, self._steps)
            except OutOfBudgetError:
                if self._steps.used_up:
                    raise
                self._sure = False
                return
            if layout is None:
                return
            layouts.append((inside, layout))
        spread: Spread = {}
        for inside, layout in layouts:
            self._share(inside, layout.takes, spread)
            self._sure &= layout.exact
        self._keep(spread)

    def _keep(self, spread: Spread) -> None:
        """Remember a placement if it is the best so far."""
        wishes = score.wishes(self._problem, spread)
        fields = [wishes.left_out, *wishes.preferences, *wishes.domains]
        if self._best is None:
            self._steps.allow(self._budget.improve)
            self._found_at = self._steps.work
        if self._best is None or fields < self._best:
            self._best = fields
            self._floor = None
            self._spread, self._wishes = spread, wishes
        if self._problem.heed is Heed.CONSTRAINTS:
            raise _Done
        # A search of a few steps ends by itself sooner than a bound over the whole cluster is found.
        if self._steps.taken > _FEW and self._best <= self._lower():
            raise _Done

    def _share(self, inside: list[Content], takes: list[tuple[Ints, Ints]], spread: Spread) -> None:
        """Hand the pods of each item to the pod sets it was made of: what they need first, then the rest."""
        by_item: dict[tuple[int, int, int, tuple[int, ...]], list[Content]] = {}
        for content in inside:
            first, last = self._tree.bounds(content.level, content.domain)
            by_item.setdefault((first, last, content.leaf.shape, content.colors), []).append(content)
        for contents, (positions, counts) in zip(by_item.values(), takes, strict=True):
            if len(contents) == 1:
                if len(positions):
                    spread[contents[0].leaf.index] = (positions, counts)
                continue
            spare = int(counts.sum()) - sum(content.leaf.need for content in contents)
            each = np.repeat(positions, counts)
            at = 0
            for content in contents:
                extra = min(spare, content.leaf.open - content.leaf.need)
                spare -= extra
                mine = each[at : at + content.leaf.need + extra]
                at += len(mine)
                if len(mine):
                    unique, amount = np.unique(mine, return_counts=True)
                    spread[content.leaf.index] = (unique, amount.astype(np.int64))


def _larger(a: Ints | int, b: int) -> Ints | int:
    if isinstance(a, int):
        return max(a, b)
    larger: Ints = np.maximum(a, b)
    return larger


class _Done(Exception):
    """No placement can be better than the one found."""
