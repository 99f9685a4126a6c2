"""A report is news if, and only if, its brief text differs: causes hold what the text states."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from closeknit.hub.copying import replace
from closeknit.hub.outcome import (
    Assignment,
    DomainFit,
    GroupReach,
    Outcome,
    Placed,
    Shortfall,
    Undecided,
    Unplaceable,
    Wishes,
)
from closeknit.hub.sentences import kai
from closeknit.hub.shortfall import (
    BehindStrictFifo,
    NoDomain,
    PodTooLarge,
    QuotaExceeded,
    QuotaScope,
    ShortfallReason,
)
from closeknit.scheduler.deciding import AnyVerdict, Verdict
from closeknit.scheduler.preempt.preemptions import Plan
from closeknit.scheduler.status import reports
from tests.kit.plans import plan, victim
from tests.property.effort import effort
from tests.unit.scheduler.verdicts import gang, incomplete, invalid

GANG = gang(2)
few = st.integers(0, 2)
levels = st.sampled_from([None, "rack"])
names = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True).map(tuple)
"""Longer than the texts list."""


def reaches(parent: str | None, name: str) -> st.SearchStrategy[GroupReach]:
    domains = names.map(lambda listed: tuple((domain,) for domain in sorted(listed)))
    return st.builds(
        GroupReach,
        name=st.just(name),
        parent=st.just(parent),
        required=levels,
        preferred=levels,
        level=levels,
        domains=domains,
        satisfied=st.booleans(),
        pods=few,
        violated=st.booleans(),
    )


placements = st.builds(
    Placed,
    request=st.just("w"),
    assignments=st.lists(
        st.builds(Assignment, st.just("p"), st.just("s"), st.sampled_from("xy"), st.just(())), max_size=2
    ).map(tuple),
    groups=st.tuples(reaches(None, "root"), reaches("root", "inner")),
    wishes=st.builds(Wishes, few, st.just(()), st.just((1,))),
    proven=st.booleans(),
)
reasons: st.SearchStrategy[ShortfallReason] = st.one_of(
    st.builds(NoDomain, levels),
    st.builds(PodTooLarge, levels, st.sampled_from("ab"), st.just("cpu"), st.just(9), few),
    st.builds(QuotaExceeded, st.sampled_from(QuotaScope)),
    st.builds(BehindStrictFifo, st.sampled_from("qr")),
)
fits = st.builds(DomainFit, st.just(("r",)), few, st.just(None), at_least=st.booleans())
shortfalls = st.lists(
    st.builds(Shortfall, st.sampled_from("gh"), reasons, few, few, st.tuples(fits), st.just(()), st.just(())),
    max_size=5,
).map(tuple)
outcomes: st.SearchStrategy[Outcome] = st.one_of(
    placements,
    st.builds(Unplaceable, st.just("w"), shortfalls),
    st.builds(Undecided, st.just("w"), shortfalls),
)
problems = st.lists(
    st.sampled_from([kai.PODS_AWAITED.at((), minimum=9, existing=n, gated=0) for n in range(3)]),
    min_size=1,
    max_size=10,
)
verdicts: st.SearchStrategy[AnyVerdict] = st.one_of(
    st.builds(
        lambda outcome, kept_for: Verdict(GANG, outcome, kept_for=kept_for),
        outcomes,
        st.one_of(st.just(()), names),
    ),
    problems.map(lambda listed: invalid(*listed)),
    problems.map(lambda listed: incomplete(*listed)),
)
plans = st.builds(
    lambda outcome, victims, budgets: plan(
        GANG, outcome, [victim(name, pods, name) for name, pods in victims], tuple(budgets)
    ),
    placements,
    st.lists(st.tuples(st.sampled_from("abcdefg"), st.integers(1, 3)), max_size=7),
    st.lists(st.sampled_from(("a/b", "a/c")), unique=True),
)


@effort(400)
@given(st.data())
def test_a_report_is_news_exactly_when_its_text_differs(data: st.DataObject) -> None:
    first = data.draw(verdicts)
    # Equal texts are rare among independent draws, so most pairs differ in one field only.
    second = data.draw(verdicts)
    if isinstance(first, Verdict) and isinstance(first.outcome, Placed) and data.draw(st.booleans()):
        second = replace(first, outcome=replace(first.outcome, groups=data.draw(placements).groups))
    elif isinstance(first, Verdict) and isinstance(first.outcome, Unplaceable) and first.outcome.shortfalls:
        changed = replace(first.outcome.shortfalls[0], reason=data.draw(reasons), fits=data.draw(few))
        second = replace(
            first, outcome=replace(first.outcome, shortfalls=(changed, *first.outcome.shortfalls[1:]))
        )
    chosen = data.draw(st.one_of(st.none(), plans)) if isinstance(first, Verdict) else None
    old, new = reports.report(first, chosen), reports.report(second, chosen)

    assert new.says_the_same(old) == ((new.state, new.brief) == (old.state, old.brief))


@effort(200)
@given(plans, plans)
def test_a_plan_is_news_exactly_when_its_text_differs(first: Plan, second: Plan) -> None:
    blocked = Verdict(GANG, Unplaceable("w"))
    old, new = reports.report(blocked, first), reports.report(blocked, second)

    assert new.says_the_same(old) == (new.brief == old.brief)
