"""Kinds as people type them: plural, singular, short name or kind, with or without the API group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from closeknit.cli.clusters import upper
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, OneOf
from closeknit.hub.sentences import cli as sentences
from closeknit.kube.resources import Resource

_PATH = (Verbatim("KIND"),)


def resources_named(words: str, resources: Sequence[Resource], cluster: str) -> list[Resource]:
    """The resources that are meant by names with commas between them; raises ``InvalidError``.

    A name that several API groups use means them all, unless it is a kind of Kubernetes' core group. So does
    the name of a category, such as ``all``.
    """
    found: dict[tuple[str, str], Resource] = {}
    wrong = []
    for word in words.split(","):
        matching = _matching(word, resources)
        if not matching:
            names = {name for each in resources for name in (each.plural, _singular(each))}
            remedy = OneOf.among(word.partition(".")[0], names)
            unknown = sentences.UNKNOWN_RESOURCE
            wrong.append(unknown.at(_PATH, cluster=upper(cluster), kind=word, remedy=remedy))
        for each in matching:
            found.setdefault((each.group, each.kind), each)
    if wrong:
        raise InvalidError(wrong)
    return list(found.values())


def resource_named(word: str, resources: Sequence[Resource], cluster: str) -> Resource:
    """The one resource of this name; raises ``InvalidError`` where it is none or could be several."""
    found = resources_named(word, resources, cluster)
    if len(found) != 1:
        names = ", ".join(each.qualified for each in found)
        wrong = sentences.AMBIGUOUS_RESOURCE.at(_PATH, kind=word, count=len(found), names=names)
        raise InvalidError([wrong])
    return found[0]


def _matching(word: str, resources: Iterable[Resource]) -> list[Resource]:
    folded = word.lower()
    found: dict[tuple[str, str], Resource] = {}
    for each in resources:
        if folded in _spellings(each):
            # Each group's preferred version comes first.
            found.setdefault((each.group, each.kind), each)
    core = [each for each in found.values() if not each.group]
    return core or list(found.values()) or _of_category(folded, resources)


def _of_category(word: str, resources: Iterable[Resource]) -> list[Resource]:
    """What kubectl means by ``all`` and the like."""
    found: dict[tuple[str, str], Resource] = {}
    for each in resources:
        if word in each.categories:
            found.setdefault((each.group, each.kind), each)
    return list(found.values())


def _spellings(resource: Resource) -> Iterator[str]:
    for name in (resource.plural, _singular(resource), resource.kind.lower(), *resource.short_names):
        yield name
        yield f"{name}.{resource.group}"
        yield f"{name}.{resource.version}.{resource.group}"


def _singular(resource: Resource) -> str:
    return resource.singular or resource.kind.lower()


def label(resource: Resource, name: str) -> str:
    """An object as commands print it: ``pod/web-1``, ``podgroup.scheduling.run.ai/train``."""
    group = f".{resource.group}" if resource.group else ""
    return f"{_singular(resource)}{group}/{name}"
