"""What an attack on proofs by stretches found: a page said more of a run than was established of it."""

import pytest

import holdfast as hf

BOWL = """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
potential = "9.81*y"
[system.forces]
x = "-0.2*sqrt(lambda_track**2 + 0.01)*x_dot/sqrt(x_dot**2 + 0.005**2)"
[program.holonomic]
track = "y - x**2/2"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x = {x}
[run]
scheme = "rk4"
step = 0.002
duration = 0.5
start_policy = "project"
"""
LITTLE = 0.001  # effort with which nothing is proved


@pytest.fixture(scope="module")
def bowl():
    return hf.derive(hf.loads(BOWL.format(x=0.5)))


@pytest.fixture(scope="module")
def checked(bowl):
    found = hf.certify(bowl, effort=LITTLE)
    assert found.attracted is hf.Label.checked
    return found


@pytest.fixture(scope="module")
def stretches(bowl):
    run = hf.simulate(bowl, every=1)
    return run, hf.certify_stretches(bowl, trajectory=run, effort=0.1)


def test_a_stretch_stands_on_the_page_of_the_same_run_with_few_of_its_rows(bowl, checked, stretches):
    thin = hf.simulate(bowl, every=1000)
    page = hf.report(thin, checked, stretches=stretches[1], state_error=False)
    assert "proved in a tube along 1 stretch of it" in page.verdict


def test_a_stretch_of_a_run_from_elsewhere_is_refused_where_its_first_row_was_not_kept(bowl, checked):
    """It was let through wherever the page's run keeps no row at that time."""
    other = hf.certify_stretches(hf.derive(hf.loads(BOWL.format(x=0.3))), effort=0.1)
    assert next(iter(other.values())).begin > 0
    with pytest.raises(hf.BadRequest, match="made for another run"):
        hf.report(hf.simulate(bowl, every=1000), checked, stretches=other, state_error=False)


def test_stretches_that_hold_the_same_time_are_refused(checked, stretches):
    """Four times the same one were 390 % of the time of the run."""
    run, found = stretches
    (one,) = found.values()
    with pytest.raises(hf.BadRequest, match="two stretches hold the time"):
        hf.report(run, checked, stretches={"once": one, "again": one}, state_error=False)


def test_a_stretch_that_is_not_proved_is_not_told_as_one(bowl, checked, monkeypatch):
    """`certify_stretches` gives what it could not prove, too, and a page called all of them proved."""
    from holdfast.stability.parts import stretches as parts

    plain = parts.certify
    run = hf.simulate(bowl, every=1)
    monkeypatch.setattr(parts, "certify", lambda *given, **named: plain(*given, **{**named, "effort": LITTLE}))
    found = hf.certify_stretches(bowl, trajectory=run, effort=0.1)
    assert [one.attracted for one in found.values()] == [hf.Label.checked]
    page = hf.report(run, checked, stretches=found, state_error=False)
    assert "stretch" not in page.verdict
    assert "By stretches" not in page.html


@pytest.mark.parametrize("effort", [-1, 0, float("nan")])
def test_an_effort_that_is_none_is_refused_and_not_answered_with_nothing(checked, effort):
    with pytest.raises(hf.BadRequest, match="effort"):
        hf.proved_stretches(checked, effort=effort)


@pytest.mark.parametrize("given", [{"stretches": [1]}, {"stretches": {"a": None}}, {"own_steps": 3}])
def test_a_page_refuses_by_name_what_is_no_proof(checked, stretches, given):
    with pytest.raises(hf.BadRequest, match=next(iter(given))):
        hf.report(stretches[0], checked, **given)


def test_proved_stretches_refuses_what_is_no_certificate():
    with pytest.raises(hf.BadRequest, match="takes a Certificate"):
        hf.proved_stretches(None)
