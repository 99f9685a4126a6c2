"""What is derived from a store is worked out once, and again only where something it asked for has changed."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from closeknit.apis.core_v1 import Node, Pod, PodSpec
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.dialects.store.objects import Stored, Unreadable
from closeknit.dialects.store.store import Index, Store
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.workload import ObjectName

BY_APP = Index("app", Pod, lambda stored: [stored.content.metadata.labels.get("app", "")])


def key(name: str, kind: str = "Pod") -> Key:
    return Key("", kind, "d" if kind == "Pod" else "", name)


def pod(name: str, app: str = "", node: str = "") -> Stored[Pod]:
    identity = ObjectName("v1", "Pod", "d", name)
    metadata = ObjectMeta(name=name, namespace="d", labels={"app": app} if app else {}, uid=node)
    content = Pod(api_version="v1", kind="Pod", metadata=metadata, spec=PodSpec(containers=()))
    return Stored(identity.key, identity, content)


def node(name: str) -> Stored[Node]:
    identity = ObjectName("v1", "Node", "", name)
    return Stored(identity.key, identity, Node(api_version="v1", kind="Node", metadata=ObjectMeta(name=name)))


def filled(*entries: Stored[Any] | Unreadable) -> View:
    view = View(Store([BY_APP]))
    for entry in entries:
        view.put(entry)
    return view


def names_of(view: View, app: str) -> tuple[str, ...]:
    return tuple(stored.name for stored in view.found("app", app))


def uid_of(view: View, of: Key) -> str:
    stored = view.get(of)
    return stored.content.metadata.uid if stored is not None else "gone"


def has_uid(view: View, of: Key) -> bool:
    return bool(view.derive(uid_of, of))


def summary(view: View, of: Key) -> str:
    return f"{of.name} {view.derive(has_uid, of)}"


def app_of(view: View, of: Key) -> tuple[str, ...]:
    """The pods of the app that a pod is of."""
    stored = view.get(of)
    return view.derive(names_of, stored.content.metadata.labels["app"]) if stored is not None else ()


def all_names(view: View) -> tuple[str, ...]:
    return tuple(stored.name for stored in view.of(Pod))


def test_a_result_is_worked_out_once_however_often_it_is_asked_for() -> None:
    view = filled(pod("a", "x"), pod("b", "y"))

    assert [view.derive(names_of, "x") for _ in range(3)] == [("a",)] * 3
    assert view.worked_out[names_of] == 1


def test_only_results_that_asked_for_the_changed_object_are_worked_out_again() -> None:
    view = filled(*(pod(f"p{i}") for i in range(100)))
    for i in range(100):
        view.derive(uid_of, key(f"p{i}"))
    before = view.worked_out[uid_of]

    view.put(pod("p7", node="u"))

    assert list(view.stale(uid_of)) == [(key("p7"),)]
    assert [view.derive(uid_of, key(f"p{i}")) for i in (6, 7, 8)] == ["", "u", ""]
    assert view.worked_out[uid_of] - before == 1


def test_what_did_not_come_out_otherwise_stops_the_change() -> None:
    view = filled(pod("a", node="u"))
    assert view.derive(summary, key("a")) == "a True"

    view.put(pod("a", node="v"))

    assert view.derive(summary, key("a")) == "a True"
    assert (view.worked_out[uid_of], view.worked_out[has_uid], view.worked_out[summary]) == (2, 2, 1)


def label_of(view: View, of: Key) -> str:
    content = view.content(of)
    return content.metadata.labels.get("app", "") if content is not None else "gone"


def test_who_asks_for_content_depends_on_that_alone() -> None:
    view = filled(replace(pod("a", "x"), written={"status": 1}))
    assert view.derive(label_of, key("a")) == "x"

    view.put(replace(pod("a", "x"), written={"status": 2}))
    assert not view.is_stale(label_of, key("a"))
    view.put(replace(pod("a", "y"), written={"status": 2}))
    assert view.derive(label_of, key("a")) == "y"
    view.put(Unreadable(key("a"), ObjectName("v1", "Pod", "d", "a"), Pod, ()))
    assert view.derive(label_of, key("a")) == "gone"
    view.put(pod("a", "z"))
    assert view.derive(label_of, key("a")) == "z"
    view.remove(key("a"))
    assert view.derive(label_of, key("a")) == "gone"
    view.put(pod("a", "z"))
    assert view.derive(label_of, key("a")) == "z"


def test_an_index_finds_objects_by_what_they_say_now() -> None:
    view = filled(pod("a", "x"), pod("b", "x"))
    assert view.derive(names_of, "x") == ("a", "b")

    view.put(pod("a", "y"))
    assert (view.derive(names_of, "x"), view.derive(names_of, "y")) == (("b",), ("a",))

    view.remove(key("b"))
    assert view.derive(names_of, "x") == ()


def test_an_index_of_metadata_is_asked_again_only_where_that_has_changed() -> None:
    asked: list[str] = []

    def by_app(stored: Stored[Pod]) -> list[str]:
        asked.append(stored.name)
        return [stored.content.metadata.labels.get("app", "")]

    view = View(Store([Index("app", Pod, by_app, of_metadata=True)]))
    first, second = pod("a", "x"), pod("a", "y")
    moved = Pod(
        api_version="v1",
        kind="Pod",
        metadata=first.content.metadata,
        spec=PodSpec(containers=(), node_name="n"),
    )
    view.put(first)
    assert view.derive(nodes_of, "x") == ("",)
    view.put(replace(first, content=moved))
    assert view.derive(nodes_of, "x") == ("n",), "what is found is the object as it is"
    assert len(asked) == 1
    view.put(second)
    assert (view.derive(nodes_of, "x"), view.derive(nodes_of, "y")) == ((), ("",))
    view.remove(key("a"))
    view.put(second)
    assert view.derive(nodes_of, "y") == ("",)
    other = Node(api_version="v1", kind="Node", metadata=second.content.metadata)
    view.put(Stored(second.key, second.object, other))
    assert view.derive(nodes_of, "y") == ()
    view.put(second)
    assert view.derive(nodes_of, "y") == ("",), "an object that was of another shape is found anew"


def nodes_of(view: View, app: str) -> tuple[str, ...]:
    return tuple(stored.content.spec.node_name for stored in view.found("app", app))


def test_an_object_of_another_kind_disturbs_nobody() -> None:
    view = filled(pod("a", "x"))
    view.derive(all_names)

    view.put(node("n"))

    assert list(view.stale(all_names)) == []
    assert view.derive(all_names) == ("a",)
    assert view.worked_out[all_names] == 1


def test_putting_the_same_object_again_changes_nothing() -> None:
    view = filled(pod("a", "x"))
    view.derive(names_of, "x")

    view.put(pod("a", "x"))

    assert list(view.stale(names_of)) == []


def test_an_object_that_comes_later_is_seen_by_who_asked_for_it_before() -> None:
    view = filled()
    assert view.derive(uid_of, key("a")) == "gone"

    view.put(pod("a", node="u"))

    assert view.derive(uid_of, key("a")) == "u"


def test_what_was_made_of_a_removed_object_alone_is_forgotten() -> None:
    def of_key(view: View, of: Key) -> bool:
        return view.has(of)

    view = filled(pod("a"))
    assert view.derive(of_key, key("a"))

    view.remove(key("a"))

    assert not any(name[0] is of_key for name in view._results)
    assert not view.derive(of_key, key("a"))


def test_an_unreadable_object_exists_but_cannot_be_got() -> None:
    identity = ObjectName("v1", "Pod", "d", "a")
    view = filled(Unreadable(identity.key, identity, Pod, ()))

    assert (view.has(key("a")), view.get(key("a")), view.keys(Pod)) == (True, None, (key("a"),))

    view.put(pod("a"))
    assert [stored.name for stored in view.of(Pod)] == ["a"]
    assert view.unreadable(Pod) == ()


@pytest.mark.parametrize("changes", [1, 10])
def test_many_changes_between_two_questions_cost_one_answer(changes: int) -> None:
    view = filled(pod("a"))
    view.derive(uid_of, key("a"))

    for i in range(changes):
        view.put(pod("a", node=str(i)))

    assert view.derive(uid_of, key("a")) == str(changes - 1)
    assert view.worked_out[uid_of] == 2


def test_objects_that_come_and_go_leave_nothing_behind() -> None:
    def of_key(view: View, of: Key) -> bool:
        return view.has(of) and view.get(of) is not None

    def size(view: View) -> tuple[int, int, int, int]:
        stale = sum(map(len, view._stale.values()))
        return len(view._results), len(view._changed), len(view._dependents), stale

    view = filled(pod("stays", "x"))
    view.derive(names_of, "x")
    before = size(view)

    for i in range(50):
        view.put(pod(f"p{i}", f"app-{i}"))
        view.derive(of_key, key(f"p{i}"))
        view.derive(names_of, f"app-{i}")
        view.derive(app_of, key(f"p{i}"))
        view.put(pod(f"p{i}", "x"))
        view.derive(app_of, key(f"p{i}"))
        view.derive(summary, key(f"p{i}"))
        # Nobody asks between the last change of an object and its end.
        view.put(pod(f"p{i}", "x", node="u"))
        view.remove(key(f"p{i}"))
        view.derive(names_of, "x")

    assert size(view) == before


def test_a_result_is_kept_while_another_depends_on_it() -> None:
    view = filled(pod("a", "x"), pod("b", "x"))
    view.derive(app_of, key("a"))
    view.derive(app_of, key("b"))

    view.put(pod("a", "y"))

    assert (view.derive(app_of, key("a")), view.derive(app_of, key("b"))) == (("a",), ("b",))
    view.put(pod("c", "x"))
    assert view.derive(app_of, key("b")) == ("b", "c")
    assert view.worked_out[names_of] == 4


def test_a_result_that_one_function_gives_up_is_kept_for_one_that_has_just_asked_for_it() -> None:
    def both(view: View) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return view.derive(names_of, "x"), view.derive(app_of, key("a"))

    view = filled(pod("a", "x"), pod("b", "x"))
    assert view.derive(app_of, key("a")) == ("a", "b")
    view.put(pod("a", "y"))
    assert view.derive(both) == (("b",), ("a",))

    view.put(pod("c", "x"))

    assert view.derive(both) == (("b", "c"), ("a",))


def test_what_is_stale_is_found_without_looking_at_all_results() -> None:
    class Unscanned(dict[Any, Any]):
        """Finds results by name alone."""

        def __iter__(self) -> NoReturn:
            raise AssertionError("all results were looked at")

        items = values = keys = __iter__

    view = filled(*(pod(f"p{i}") for i in range(100)))
    for i in range(100):
        view.derive(summary, key(f"p{i}"))
    view._results = Unscanned(view._results)

    view.put(pod("p7", node="u"))

    assert list(view.stale(summary)) == [(key("p7"),)]
    assert view.derive(summary, key("p7")) == "p7 True"
    assert list(view.stale(summary)) == []


def test_an_object_whose_values_cannot_be_read_leaves_the_store_as_it_was() -> None:
    def app_label(stored: Stored[Any]) -> list[str]:
        if stored.content.metadata.uid == "bad":
            raise KeyError("app")
        return [stored.content.metadata.labels.get("app", "")]

    store = Store([Index("app", Pod, app_label)])
    store.put(pod("a", "x"))

    with pytest.raises(KeyError):
        store.put(pod("a", "y", "bad"))
    with pytest.raises(KeyError):
        store.put(pod("b", "x", "bad"))

    assert store.get(key("a")) == pod("a", "x")
    assert store.get(key("b")) is None
    assert list(store.found("app", "x")) == [key("a")]
    assert store.remove(key("a"))


def test_a_view_that_fails_at_its_own_work_computes_everything_again(monkeypatch: pytest.MonkeyPatch) -> None:
    view = filled(pod("a", node="1"), pod("b", node="2"))
    assert view.derive(summary, key("a")) == "a True"

    def broken(*_: object) -> NoReturn:
        raise KeyError("changes")

    with monkeypatch.context() as patch:
        patch.setattr(view._dependents, "among", broken)
        with pytest.raises(KeyError):
            view.put(pod("a", node=""))

    assert view.resets == 1
    assert view.derive(summary, key("a")) == "a False"
    view.put(pod("a", node="3"))
    assert view.derive(summary, key("a")) == "a True"
    assert view.resets == 1
