"""Limits that no pattern of input avoids: small files that took half a minute, large ones that took ten seconds."""

import time

import pytest

import holdfast as hf
from holdfast.problem.units.dimensions import dimension

FREE = 'schema = 1\n[system]\ncoordinates = ["x"]\nkinetic = "x_dot**2/2"\n'
SOON = 3.0  # seconds; each takes a fraction of one, and a busy machine is no failure


def within(seconds, work):
    start = time.process_time()
    result = work()
    assert time.process_time() - start < seconds
    return result


def refused(text, words):
    def work():
        with pytest.raises(hf.HoldfastError, match=words) as caught:
            hf.loads(text)
        return str(caught.value)

    return within(SOON, work)


def potential(expression, rest=""):
    return f'{FREE}potential = "{expression}"\n{rest}'


def chain(body, count):
    lines = [f'd{k} = "{body.format(f"d{k - 1}")}"' for k in range(1, count + 1)]
    return "\n".join(["[definitions]", 'd0 = "x"', *lines]) + "\n"


# ── constants ─────────────────────────────────────────────────────────────────────────────────────

EQUAL = ",".join(f"log({k}+sqrt({k}))-log(sqrt({k}))-log(1+sqrt({k}))+{k}/{k}" for k in range(2, 30))


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("x*(189**-1e-7)", "too long an exact form"),
        ("x*(1/189)**1e-7", "too long an exact form"),
        ("(189*x)**1e-7", "too long an exact form"),
        ("x*12**(1/64)*18**(1/63)*20**(1/61)*12**(1/59)", "too long an exact form"),
        (f"x*max({EQUAL})", "cannot be told apart"),
        ("x*max(sqrt(2)+sqrt(3)+sqrt(5), sqrt(10+2*sqrt(6)+2*sqrt(10)+2*sqrt(15)))", "cannot be told apart"),
    ],
)
def test_constants_without_a_short_exact_form_are_refused(expression, words):
    refused(potential(expression), words)


@pytest.mark.parametrize("expression", ["10**0.4321", "2**0.4321", "max(1/3, 0.3333, 0.25)", "min(2, x, 3, 1)"])
def test_honest_constants_are_read(expression):
    assert hf.loads(potential(f"x*({expression})")).system.potential.has(hf.coordinates("x"))


def test_the_largest_constant_is_chosen_exactly():
    assert hf.loads(potential("x*max(1, 5/2, sqrt(2))")).system.potential == hf.coordinates("x") * 5 / 2


def test_a_constant_beyond_doubles_through_a_definition_is_flagged_and_no_traceback():
    equations = hf.derive(hf.loads(potential("d**2", '[definitions]\nd = "1e300*x"\n[start]\nx = 1\n')))
    with pytest.raises(hf.HoldfastError):
        hf.checked_start(equations)


# ── definitions, units, display ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("count", [4, 20, 300])
def test_nested_definitions_are_judged_once_and_shown_by_a_letter(count):
    kinetic = FREE.replace("x_dot**2/2", f"x_dot**2/2*(2 + sin(d{count}))")
    text = kinetic + chain("{0}*cos({0})", count) + '[units]\nx = "1"\n'

    def work():
        equations = hf.derive(hf.loads(text))
        return equations.summary(), equations.latex(), equations.to_dict()

    summary, _, _ = within(SOON, work)
    assert ("formula_1" in summary) == (count > 4)


def test_a_product_of_sines_is_not_turned_into_thousands_of_terms():
    text = FREE.replace("x_dot**2/2", "x_dot**2/2 + x_dot**2*sin(d4)**2") + chain("{0}*cos({0})", 4)
    assert "Equations of motion" in within(SOON, hf.derive(hf.loads(text)).summary)


@pytest.mark.parametrize(
    "unit", ["m^" + "9" * 5000, "(" * 2000 + "m" + ")" * 2000, "m " * 100_000, "m^1001", "m^-99999"]
)
def test_a_unit_beyond_reason_is_refused(unit):
    refused(f'{FREE}[units]\nx = "{unit}"\n', "unit")


def test_units_read_as_before():
    assert dimension("kg m^2/(s^2 A)") == dimension("Wb")
    assert dimension("N·s / m") == dimension("kg s**-1")


# ── large files ───────────────────────────────────────────────────────────────────────────────────

STATES = "".join(f's{k} = "{"q+" * 9000}1"\n' for k in range(45))
CONTROLS = "".join(f'c{k} = {{ x = "1" }}\n' for k in range(990))
NAMES = ", ".join(f'"coordinate_of_the_thing_{k}"' for k in range(990))


@pytest.mark.parametrize(
    "text",
    [
        f"{FREE}[system.states]\n{STATES}[program.controls]\n{CONTROLS}",
        "schema = 1\n" + "".join(".".join([f"a{k}"] + ["a"] * 58) + " = 1\n" for k in range(7500)),
        "schema = 1\n[certificate]\n" + "".join(f"a{k} = {'[' * 90}1{']' * 90}\n" for k in range(4000)),
        "schema = 1\n[certificate]\nx = [" + "[]," * 300_000 + "]\n",
        f"{FREE}[ensemble]\nzip = {{ x = [{'1,' * 499_000}] }}\n",
        f"schema = 1\n[system]\ncoordinates = [{NAMES}]\nkinetic = '0'\n[start]\n"
        + "".join(f"coordinate_of_the_thingy_{k} = 1\n" for k in range(990)),
        f"{FREE}[certificate]\na = 0x{'f' * 900_000}\n",
    ],
    ids=["controls x states", "dotted keys", "nested lists", "empty lists", "numbers", "near names", "hexadecimal"],
)
def test_large_files_are_refused_soon(text):
    refused(text, "error")


def test_more_is_allowed_where_more_is_asked_for():
    sums = "".join(f'a{k} = "{" + ".join(["sin(x)*cos(x)"] * 150)}"\n' for k in range(15))
    text = f"{FREE}[definitions]\n{sums}"
    assert "--limit" in refused(text, "too large")
    with hf.limits(seconds=60):
        hf.loads(text)
    with pytest.raises(hf.HoldfastError):
        hf.loads(text)
    with pytest.raises(hf.BadRequest), hf.limits(seconds=0):
        pass


def test_a_dense_mass_of_a_hundred_coordinates():
    names = [f"x{k}" for k in range(100)]
    rates = "+".join(f"{name}_dot" for name in names)
    squares = "+".join(f"{name}_dot**2" for name in names)
    listed = ", ".join(f'"{name}"' for name in names)
    text = f'schema = 1\n[system]\ncoordinates = [{listed}]\nkinetic = "(({rates})**2 + {squares})/2"\n'
    equations = within(SOON, lambda: hf.derive(hf.loads(text)))
    within(SOON, lambda: hf.checked_start(equations))


# ── runs and cases ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "line", ["every = 9223372036854775808", "step = 1e-320", "begin = 1e17", "seed = -1", "every = 1e3"]
)
def test_a_run_that_cannot_be_is_refused(line):
    with pytest.raises(hf.HoldfastError):
        hf.run_as_stated(
            hf.derive(hf.loads(f"{FREE}[run]\nduration = 10\n" + ("" if "step" in line else "step = 0.01\n") + line))
        )


def test_tables_of_a_certificate_are_tables():
    refused(f"{FREE}[certificate]\nweights = 1\n", "a table belongs here")


def test_cases_are_counted_before_they_are_made():
    cases = "[ensemble]\ngrid = { x = { from = 0, to = 1, count = 400000000 } }\n"
    text = f"{FREE}[run]\nstep = 0.01\nduration = 1\n{cases}"
    equations = hf.derive(hf.loads(text))
    with pytest.raises(hf.BadRequest, match=r"4e\+08 cases"):
        within(SOON, lambda: hf.ensemble(equations))


def test_the_rows_of_an_adaptive_run_are_bounded(monkeypatch):
    monkeypatch.setattr("holdfast.engine.run.adaptive.MOST_KEPT", 100_000)
    equations = hf.derive(hf.loads(potential("x**2/2", "[start]\nx = 1\n")))
    with pytest.raises(hf.BadRequest, match=r"steps up to t = .* fill"):
        hf.simulate(equations, "dop853", tolerance=1e-13, duration=1e9, every=1_000_000)


def test_an_undefined_condition_number_is_no_traceback():
    text = (
        'schema = 1\n[system]\ncoordinates = ["x", "z"]\nkinetic = "sqrt(x_dot**2 + z_dot**2)"\n'
        '[program.holonomic]\nhome = "x"\nlevel = "z"\n[program.controls]\nF = { x = "1" }\nG = { z = "1" }\n'
    )
    found = hf.checked_start(hf.derive(hf.loads(text)))
    assert found.condition == float("inf")
    assert "undefined at the start" in found.findings[0].text


# ── what mutants found ────────────────────────────────────────────────────────────────────────────


def test_a_start_may_use_definitions_and_follows_the_cases():
    names = '[parameters]\nm = 2\n[definitions]\nc = "3*m"\nd = "c + 1"\n[start]\nx = "d"\n'
    text = f"{FREE}{names}[run]\nstep = 0.1\nduration = 1\n"
    equations = hf.derive(hf.loads(text))
    assert hf.simulate(equations)["x"][0] == 7
    assert hf.ensemble(equations, cases={"m": [1, 2, 5]})["x"][:, 0].tolist() == [4, 7, 16]


def test_a_parameter_that_nothing_uses_is_counted_in_the_code():
    run = "[run]\nstep = 0.1\nduration = 1\n[start]\nx = 1\n"
    first, second = (
        hf.derive(hf.loads(potential("k*x**2/2", f"[parameters]\nk = 2\n{idle}{run}"))) for idle in ("", "idle = 5\n")
    )
    assert first.field.fingerprint != second.field.fingerprint
    for equations in (first, second, first):
        hf.checked_start(equations)
        both = hf.ensemble(equations, cases={"k": [2.0, 3.0]})
        assert both["x"][1, -1] == hf.simulate(equations, parameters={"k": 3.0})["x"][-1]


def test_an_equation_without_unknowns_is_no_fault_of_our_own():
    tower = chain("exp({0})/{0}", 30)
    held = f'[program.holonomic]\njoin = "d30"\nwire = "1/3"\n{tower}'
    text = 'schema = 1\n[system]\ncoordinates = ["x", "z"]\nkinetic = "(x_dot**2 + z_dot**2)/2"\n' + held
    with pytest.raises(hf.HoldfastError) as caught:
        hf.derive(hf.loads(text))
    assert not isinstance(caught.value, hf.InternalError)
