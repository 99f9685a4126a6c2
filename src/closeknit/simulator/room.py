"""What is free on the nodes of a site, as arrays in tree order, so that every domain is a slice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from closeknit.hub.resources import Resources
from closeknit.simulator.scenario import Ask, Site

Counts = npt.NDArray[np.int64]
Placement = tuple[tuple[int, int], ...]
"""Nodes by number and how many pods each gets, in order of the nodes."""

Selector = tuple[tuple[str, tuple[str, ...]], ...]

_POD = Resources({"pods": 1})


class Level:
    """The domains of one level: where each begins, and which node is in which. -1 is in none."""

    def __init__(self, paths: Sequence[tuple[str, ...]], depth: int) -> None:
        own = [path[: depth + 1] if len(path) > depth else None for path in paths]
        self.paths: list[tuple[str, ...]] = list(dict.fromkeys(each for each in own if each is not None))
        number = {path: i for i, path in enumerate(self.paths)}
        self.of_node: Counts = np.array(
            [-1 if each is None else number[each] for each in own], dtype=np.int64
        )
        self.inside = self.of_node >= 0

    def sums(self, counts: Counts) -> Counts:
        """Counts of nodes, summed by domain."""
        within = self.of_node[self.inside]
        return np.bincount(within, weights=counts[self.inside], minlength=len(self.paths)).astype(np.int64)


class Room:
    """What is free now; a placement that does not fit is a mistake of whoever made it."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.resources = sorted({name for node in site.nodes for name in node.allocatable} | {"pods"})
        self._column = {name: i for i, name in enumerate(self.resources)}
        self.total: Counts = np.array(
            [[node.allocatable.get(name, 0) for name in self.resources] for node in site.nodes],
            dtype=np.int64,
        ).reshape(len(site.nodes), len(self.resources))
        self.free = self.total.copy()
        self.up = np.array([node.ready and not node.unschedulable for node in site.nodes], dtype=bool)
        paths = [site.topology.path(node.labels) for node in site.nodes]
        self.levels = {label: Level(paths, depth) for depth, label in enumerate(site.topology.labels)}
        self._masks: dict[Selector, npt.NDArray[np.bool_]] = {}

    @property
    def scarce(self) -> Counts:
        """What is free of the scarce resource on each node."""
        column = self._column.get(self.site.resource)
        return self.free[:, column] if column is not None else np.zeros(len(self.free), dtype=np.int64)

    @property
    def scarce_total(self) -> Counts:
        """What there is of the scarce resource on each node."""
        column = self._column.get(self.site.resource)
        return self.total[:, column] if column is not None else np.zeros(len(self.free), dtype=np.int64)

    def fits(self, ask: Ask) -> Counts:
        """How many pods of a gang each node has room for."""
        allowed = self.up & self._mask(ask.selector)
        fitting: Counts = np.where(allowed, self.free[:, self._column["pods"]], np.int64(0))
        for name, units in ask.resources.items():
            column = self._column.get(name)
            if column is None:
                return np.zeros_like(fitting)
            np.minimum(fitting, self.free[:, column] // units, out=fitting)
        return np.maximum(fitting, 0)

    def take(self, ask: Ask, placement: Placement) -> None:
        """Let pods use their nodes."""
        self._change(ask, placement, -1)

    def give_back(self, ask: Ask, placement: Placement) -> None:
        """Let pods leave their nodes."""
        self._change(ask, placement, 1)

    def _change(self, ask: Ask, placement: Placement, sign: int) -> None:
        each = ask.resources + _POD
        for node, pods in placement:
            self.change(node, each, sign * pods)

    def change(self, node: int, amounts: Resources, times: int) -> None:
        """Give back so many times so much on a node, or take it where the number is negative."""
        for name, units in amounts.items():
            if (column := self._column.get(name)) is None:
                continue
            self.free[node, column] += times * units
            if self.free[node, column] < 0:
                used = self.site.nodes[node].name
                raise AssertionError(f"{name} of node {used} is given out twice.")

    def _mask(self, selector: Selector) -> npt.NDArray[np.bool_]:
        mask = self._masks.get(selector)
        if mask is None:
            mask = self._masks[selector] = np.array(
                [all(node.labels.get(key) in values for key, values in selector) for node in self.site.nodes],
                dtype=bool,
            )
        return mask


def filled(fits: Counts, order: Counts, pods: int) -> Placement | None:
    """Pods put onto nodes in this order, as many on each as fit; None where there are not enough."""
    taken = fits[order]
    before = np.cumsum(taken) - taken
    taken = np.clip(pods - before, 0, taken)
    if int(taken.sum()) < pods:
        return None
    used = taken > 0
    return tuple(sorted(zip(order[used].tolist(), taken[used].tolist(), strict=True)))
