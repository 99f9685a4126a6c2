"""The words that describe one host of a drawing, read and written.

The grammar stands in ``closeknit.hub.drawing``, beside the tree that holds the hosts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from closeknit.hub import quantities
from closeknit.hub.cluster import Holding
from closeknit.hub.nodes import Effect, Node, Taint
from closeknit.hub.paths import Path
from closeknit.hub.problems import Code, Fact, InvalidError, OneOf, Problem
from closeknit.hub.quantities import Rounding
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources, is_extended
from closeknit.hub.sentences import hub as sentences
from closeknit.hub.topology import HOSTNAME

GPU = "nvidia.com/gpu"

_NATIVE = ("cpu", "memory", "pods", "ephemeral-storage")
_FLAGS = ("unschedulable", "not-ready", "no-hostname")
_WORDS = (*_NATIVE, *_FLAGS, "used", "label", "taint")
_EFFECTS = {effect.value: effect for effect in Effect}
_NO_RESOURCES = "none"


class HostReader:
    """Reads the words of one host, and gathers what is wrong with them."""

    def __init__(self, where: Path, name: str, labels: Mapping[str, str]) -> None:
        self.problems: list[Problem] = []
        self.holdings: list[Holding] = []
        self._where = where
        self._name = name
        self._labels = {**labels, HOSTNAME: name}
        self._offered: dict[str, int] = {}
        self._taints: list[Taint] = []
        self._flags: set[str] = set()

    def read(self, words: Sequence[str]) -> Node:
        """Read a host's words into a node; ``problems`` and ``holdings`` are known afterwards."""
        rest = list(words)
        if rest and "=" not in rest[0] and ":" not in rest[0] and rest[0] not in _FLAGS:
            self._offer(GPU, rest.pop(0))
        for word in rest:
            self._word(word)
        if "no-hostname" in self._flags:
            del self._labels[HOSTNAME]
        self._check_use()
        return Node(
            name=self._name,
            labels=self._labels,
            allocatable=Resources(self._offered),
            taints=tuple(self._taints),
            unschedulable="unschedulable" in self._flags,
            ready="not-ready" not in self._flags,
        )

    def _problem(self, code: Code, **facts: Fact) -> None:
        drawn = sentences.DRAWN_HOST.at(self._where, host=self._name, problem=code.at(**facts))
        self.problems.append(drawn)

    def _word(self, word: str) -> None:
        key, equals, value = word.partition("=")
        if word in _FLAGS:
            self._flags.add(word)
        elif word.startswith("taint:"):
            self._taint(word)
        elif key.startswith("label:") and equals and key != "label:":
            self._labels[key.removeprefix("label:")] = value
        elif key == "used" and equals:
            self._used(word, value)
        elif equals and ":" not in key and (key in _NATIVE or is_extended(key)):
            self._offer(key, value)
        else:
            remedy = OneOf.among(key.partition(":")[0], _WORDS)
            self._problem(sentences.UNKNOWN_WORD, word=word, remedy=remedy)

    def _offer(self, resource: str, text: str) -> None:
        if resource in self._offered:
            self._problem(sentences.RESOURCE_TWICE, resource=resource)
        units = self._units(resource, text, Rounding.DOWN)
        if units == 0 and resource == "pods":
            # Amounts of zero are not kept, and a node without an entry for pods takes any number.
            self._problem(sentences.NO_PODS_DRAWN)
        if units is not None:
            self._offered[resource] = units

    def _units(self, resource: str, text: str, rounding: Rounding) -> int | None:
        try:
            return quantities.amount(resource, text, rounding)
        except InvalidError as error:
            for problem in error.problems:
                self._problem(sentences.RESOURCE_AMOUNT, resource=resource, problem=problem)
            return None

    def _taint(self, word: str) -> None:
        rest, _, effect = word.removeprefix("taint:").rpartition(":")
        key, _, value = rest.partition("=")
        if not key:
            self._problem(sentences.NOT_A_TAINT, word=word)
        elif effect not in _EFFECTS:
            remedy = OneOf.among(effect, _EFFECTS)
            self._problem(sentences.UNKNOWN_EFFECT, effect=effect, remedy=remedy)
        else:
            self._taints.append(Taint(key, _EFFECTS[effect], value))

    def _used(self, word: str, text: str) -> None:
        count, _, rest = text.partition(":")
        workload, _, asked = rest.partition(":")
        if not _is_number(count, digits=9):
            self._problem(sentences.USED_WITHOUT_NUMBER, word=word)
            return
        resources: dict[str, int] = {} if asked else {GPU: 1}
        ports: set[HostPort] = set()
        for part in asked.split(",") if asked not in ("", _NO_RESOURCES) else ():
            key, _, value = part.partition("=")
            number, protocol, address, *_ = (*value.split("/", 2), "", "")
            if key != "port":
                resources[key] = self._units(key, value, Rounding.UP) or 0
            elif _is_number(number, digits=5):
                ports.add(HostPort(int(number), protocol or "TCP", address))
            else:
                self._problem(sentences.NOT_A_PORT, word=part)
        self.holdings.append(
            Holding(workload or "used", self._name, Resources(resources), int(count), frozenset(ports))
        )

    def _check_use(self) -> None:
        used: Counter[str] = Counter()
        for holding in self.holdings:
            used.update({**(holding.resources * holding.pods), "pods": holding.pods})
        for resource, total in sorted(used.items()):
            limit = self._offered.get(resource, 0)
            # A host that lists no pods takes any number of them.
            if total > limit and (resource != "pods" or "pods" in self._offered):
                used_text, offered = (quantities.written(resource, each) for each in (total, limit))
                facts = {"used": used_text, "resource": resource, "offered": offered}
                self._problem(sentences.MORE_USED_THAN_OFFERED, **facts)


def host_words(node: Node, levels: Sequence[str], held: Sequence[Holding]) -> Iterator[str]:
    """The words that stand for a host drawn inside domains of these levels."""
    offered = node.allocatable
    if GPU in offered:
        yield str(offered[GPU])
    yield from sorted(_holding_word(holding) for holding in held)
    for name in (*_NATIVE, *sorted({*offered} - {*_NATIVE, GPU})):
        if name in offered:
            yield f"{name}={quantities.written(name, offered[name])}"
    if HOSTNAME not in node.labels:
        yield "no-hostname"
    for key, value in sorted(node.labels.items()):
        if key not in levels and (key, value) != (HOSTNAME, node.name):
            yield f"label:{key}={value}"
    yield from (f"taint:{taint}" for taint in node.taints)
    if node.unschedulable:
        yield "unschedulable"
    if not node.ready:
        yield "not-ready"


def _holding_word(holding: Holding) -> str:
    asked = [f"{name}={quantities.written(name, units)}" for name, units in holding.resources.items()]
    asked += [
        f"port={port.port}/{port.protocol}{port.address and '/'}{port.address}"
        for port in sorted(holding.host_ports)
    ]
    if asked != [f"{GPU}=1"]:
        return f"used={holding.pods}:{holding.workload}:{','.join(asked) or _NO_RESOURCES}"
    return f"used={holding.pods}" if holding.workload == "used" else f"used={holding.pods}:{holding.workload}"


def _is_number(text: str, *, digits: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= digits
