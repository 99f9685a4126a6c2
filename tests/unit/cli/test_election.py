from __future__ import annotations

import pytest

from closeknit.cli.election import lease_terms
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli
from closeknit.kube.leases import Terms


def test_the_usual_settings_are_those_of_other_kubernetes_components() -> None:
    assert lease_terms(15.0, 10.0, 2.0) == Terms()


@pytest.mark.parametrize(
    ("settings", "option"),
    [
        pytest.param(
            (10.0, 10.0, 2.0), "--renew-deadline", id="a holder that writes until the lease is taken"
        ),
        pytest.param((10.0, 9.5, 2.0), "--renew-deadline", id="no time left for a call that was sent last"),
        pytest.param(
            (5.0, 10.0, 2.0), "--renew-deadline", id="a holder that writes after the lease is taken"
        ),
        pytest.param((15.0, 10.0, 10.0), "--retry-period", id="a renewal when it is too late"),
    ],
)
def test_settings_under_which_two_could_work_are_refused_by_the_option(
    settings: tuple[float, float, float], option: str
) -> None:
    with pytest.raises(InvalidError) as raised:
        lease_terms(*settings)
    (problem,) = raised.value.problems
    assert (problem.code, [str(step) for step in problem.path]) == (cli.LEASE_TIMES, [option])


@pytest.mark.parametrize("settings", [(3.0, 2.0, 0.5), (60.0, 40.0, 5.0)])
def test_other_settings_are_taken_as_they_are(settings: tuple[float, float, float]) -> None:
    terms = lease_terms(*settings)
    assert (terms.duration, terms.renew_within, terms.every) == settings
