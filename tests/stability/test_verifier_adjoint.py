"""Rounding by slopes: never below what a machine does, near it where elimination is nearly singular; and all cores."""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

import holdfast as hf
from holdfast.stability.certificate.recheck import Recheck
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.numbers.forms import Form
from holdfast.stability.verifier.reading.code import ARITY, Code, Rounded, advanced
from holdfast.stability.verifier.reading.file import claims
from holdfast.stability.verifier.rounding import backwards
from holdfast.stability.verifier.rounding.adjoint import AdjointRounding
from holdfast.stability.verifier.rounding.slopes import CodeSlopes
from holdfast.stability.verifier.steps.cover import Budget
from holdfast.stability.verifier.tube import cores
from holdfast.stability.verifier.tube.cells import TubeCells
from holdfast.stability.verifier.tube.check import fitting
from holdfast.stability.verifier.tube.cover import TubeRoundings
from holdfast.stability.verifier.tube.space import TubeSpace

AT = {"acos": 0.3, "asin": 0.3, "atan2": 0.7, "tanh": 0.4}
NEXT_TO_1 = 2.0**-53
UNITS = {"div": 2.0**-52, "power": 2.0**-52, **dict.fromkeys(("sin", "cos", "exp", "log"), 2.0**-50)}
UNITS |= dict.fromkeys("tan asin acos atan sinh cosh tanh pow atan2".split(), 2.0**-49)


@pytest.fixture(scope="module")
def folded():
    """Two links that fold almost onto the diagonal at which their system is singular, with a tube along their run."""
    a, b, c, d = hf.coordinates("a b c d")
    links = hf.System(
        coordinates=(a, b, c, d), kinetic=(a.rate**2 + b.rate**2 + c.rate**2 + d.rate**2) / 2, potential=9.81 * (b + d)
    )
    held = {"upper": (a**2 + b**2 - 1) / 2, "lower": ((c - a) ** 2 + (d - b) ** 2 - 1) / 2}
    program = hf.Program(holonomic=held, law=hf.critically_damped(10))
    problem = hf.Problem(links, program, start={a: 0.6, b: -0.8, c: 1.4, d: -1.4})
    return hf.certify(hf.derive(problem), hf.RK4, step=0.005, duration=0.5, effort=0.3, tube=True)


@pytest.fixture(scope="module")
def read(folded):
    return reading(claims(folded.to_dict()))


def claimed(read):
    return [fitting(read, block) for block in read.claims.blocks if block.tube_proof is not None]


def roundings(read):
    return TubeRoundings(read, read.claims.tubes[0], claimed(read))


def whole(read):
    tube = read.claims.tubes[0]
    return TubeCells.whole(list(tube.scales), tube.spans, tube.curves, tube.halves)


# ── slopes of one operation ───────────────────────────────────────────────────────────────────────


def code_of(op):
    """x, y; v = op(...); then v·v + x, so that a slope is carried on."""
    args = {"power": (0, 3), "select": (0, 0, 1)}.get(op, tuple(range(ARITY.get(op, 1))))
    return Code(("x", "y"), ((op, *args), ("mul", 2, 2), ("add", 3, 0)), (4,))


def wrong_by(code, values, place, share):
    """The result in balls with one operation wrong by a share of itself."""
    scaled = ("const", Fraction(1) + Fraction(share))
    moved = [list(op) for op in code.operations]
    first = len(code.inputs)
    extra = [*code.operations[: place - first + 1], scaled, ("mul", place, place + 1)]
    for op, *args in moved[place - first + 1 :]:
        extra.append((op, *(place + 2 if k == place else k + 2 if k > place else k for k in args)))
    return Code(code.inputs, tuple(extra), tuple(k + 2 for k in code.rates)).balls(values)[0]


@pytest.mark.parametrize("op", [*sorted(set(ARITY) - {"sign", "neg"}), "power"])
def test_the_slope_of_an_operation_bounds_what_its_rounding_moves(op):
    code, x, y = code_of(op), AT.get(op, 1.3), 0.45
    space = TubeSpace(2, 0, 1)
    place = {"x": Form.constant(space, np.array([x])), "y": Form.constant(space, np.array([y]))}
    slopes = CodeSlopes(code, list(code.rates))
    known = slopes.followed({name: Rounded(form, np.zeros(1)) for name, form in place.items()})
    bound = float(slopes.moved([Form.constant(space, np.ones(1))], known, 1)[0])
    before, flint.ctx.prec = flint.ctx.prec, 200
    try:
        values = {"x": flint.arb(x), "y": flint.arb(y)}
        exact = code.balls(values)[0]
        exacts = ("min", "max", "abs", "select")  # which do not round: their own share is 0
        units = {2: 0.0 if op in exacts else UNITS.get(op, NEXT_TO_1), 3: NEXT_TO_1, 4: NEXT_TO_1}
        moved = sum(abs(float((wrong_by(code, values, k, unit) - exact).mid())) for k, unit in units.items() if unit)
    finally:
        flint.ctx.prec = before
    assert 0 < moved * (1 - 1e-9) <= bound <= 2 * moved


def test_a_kink_within_the_cell_has_no_bound():
    space = TubeSpace(1, 0, 1)
    form = Form.constant(space, np.array([0.0]))
    form.c[:, space.across(0), 0] = 0.1
    for op in ("abs", "min", "max", "select"):
        args = {"abs": (0,), "select": (0, 0, 0)}.get(op, (0, 1))
        code = Code(("x", "y"), ((op, *args), ("mul", 2, 2)), (3,))
        slopes = CodeSlopes(code, [3])
        zero = Form.constant(space, np.zeros(1))
        known = slopes.followed({"x": Rounded(form, np.zeros(1)), "y": Rounded(zero, np.zeros(1))})
        assert not np.isfinite(slopes.moved([Form.constant(space, np.ones(1))], known, 1)).all()


# ── a whole step ──────────────────────────────────────────────────────────────────────────────────


def stepped(read, moment, state, number, ball):
    """One step by the code in a kind of number: doubles, or balls."""
    step, tableau, code = number(read.claims.step), read.tableau, read.claims.code
    names, fixed = read.equations.inputs[1:], {k: number(v) for k, v in read.claims.parameters.items()}
    rates = []
    for node, row in zip(tableau.nodes, tableau.stages, strict=True):
        place = driven(state, step, [ball(weight) for weight in row], rates)
        values = {"t": moment + ball(node) * step, **dict(zip(names, place, strict=True)), **fixed}
        rates.append(code.balls(values) if number is flint.arb else in_doubles(code, values))
    return driven(state, step, [ball(weight) for weight in tableau.weights], rates)


def driven(state, step, weights, rates):
    """x + step Σ b K, summed before it is multiplied and added, as drivers do."""
    used = [(weight, stage) for weight, stage in zip(weights, rates, strict=False) if weight != 0]
    return [x + step * sum(weight * stage[i] for weight, stage in used) for i, x in enumerate(state)]


def in_doubles(code, values):
    known = [values[name] for name in code.inputs]
    simple = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
    }
    for op, *args in code.operations:
        if op == "const":
            known.append(float(args[0]))
        elif op == "power":
            known.append(math.prod([known[args[0]]] * args[1]))
        elif op == "neg":
            known.append(-known[args[0]])
        else:
            known.append((simple.get(op) or getattr(math, op))(*(known[k] for k in args)))
    return [known[k] for k in code.rates]


def test_no_step_in_doubles_is_further_from_the_exact_one_than_the_bound(read):
    from holdfast.stability.verifier.numbers.evaluate import ball_values

    cells, fits = whole(read), claimed(read)
    bounds = roundings(read).by_slopes((0, 1)).judged(cells)
    rng, worst = np.random.default_rng(3), 0.0
    before, flint.ctx.prec = flint.ctx.prec, 200
    try:
        for cell in rng.integers(len(cells), size=40):
            s, offset = rng.uniform(), rng.uniform(-1, 1, cells.halves.shape[1])
            state = cells.curves[cell] @ s ** np.arange(4) + offset * cells.halves[cell] * (1 - 1e-9)
            moment = float(cells.spans[cell, 0])
            near = stepped(read, moment, state.tolist(), float, float)
            exact = stepped(
                read, flint.arb(moment), [flint.arb(float(x)) for x in state], flint.arb,
                lambda f: flint.arb(flint.fmpq(f.numerator, f.denominator)),
            )  # fmt: skip
            for one, bound in zip(fits, bounds[:, cell], strict=True):
                nodes = [read.equations.psi[name] for name in one.block.names]
                table = [
                    dict(zip(read.equations.inputs, map(flint.arb, (moment, *after)), strict=True))
                    for after in (near, exact)
                ]
                both = [ball_values(nodes, values) for values in table]
                gap = np.array([float((a - b).mid()) for a, b in zip(*both, strict=True)])
                worst = max(worst, float(np.linalg.norm(np.array(one.proof.factor).T @ gap)) / bound)
    finally:
        flint.ctx.prec = before
    assert 1e-3 < worst <= 1


def test_the_bound_is_above_all_roundings_at_their_worst_and_near_them(read, monkeypatch):
    """Each operation of each stage made wrong by itself, in 200 bits: their sum is the worst that doubles can do."""
    tube, code = read.claims.tubes[0], read.claims.code
    cell = len(tube.spans) // 3
    state = tube.curves[cell] @ 0.5 ** np.arange(4)
    moment = float(tube.spans[cell].mean())
    spans, curves = np.array([[moment, moment + 1e-12]]), np.zeros((1, len(state), 4))
    curves[0, :, 0] = state
    part = TubeCells.whole(list(tube.scales), spans, curves, np.full((1, len(state)), 1e-14))
    monkeypatch.setattr(  # the operations of the code alone
        backwards, "advanced", lambda *given: [Rounded(x.form, 0 * x.error) for x in advanced(*given)]
    )
    model = roundings(read).by_slopes((0, 1))
    monkeypatch.setattr(model, "_clock", 0.0)
    bounds = model.judged(part)[:, 0]
    first = len(code.inputs)
    rounded = [k for k, (op, *_) in enumerate(code.operations, first) if op not in ("const", "neg", "pi")]
    before, flint.ctx.prec = flint.ctx.prec, 200
    try:
        exact = after_step(read, moment, state, None)
        moved = [after_step(read, moment, state, (i, k)) for i in range(len(read.tableau.weights)) for k in rounded]
    finally:
        flint.ctx.prec = before
    for one, bound in zip(claimed(read), bounds, strict=True):
        factor = np.array(one.proof.factor)
        places = [list(read.equations.psi).index(name) for name in one.block.names]
        gaps = [np.array([float((x[k] - exact[k]).mid()) for k in places]) for x in moved]
        sizes = sum(np.abs(factor.T @ gap) for gap in gaps)
        assert 0.1 < float(np.linalg.norm(sizes)) / bound <= 1


def after_step(read, moment, state, wrong):
    """ψ after a step in balls, one operation of one stage made wrong."""
    from holdfast.stability.verifier.numbers.evaluate import ball_values

    claims_, tableau = read.claims, read.tableau
    names = read.equations.inputs[1:]
    exact = lambda f: flint.arb(flint.fmpq(f.numerator, f.denominator))  # noqa: E731
    step, fixed = flint.arb(claims_.step), {k: flint.arb(v) for k, v in claims_.parameters.items()}
    start = [flint.arb(float(x)) for x in state]
    rates = []

    def moved(weights):
        place = list(start)
        for weight, stage in zip(weights, rates, strict=False):
            place = [x + step * exact(weight) * k for x, k in zip(place, stage, strict=True)]
        return place

    for i, (node, row) in enumerate(zip(tableau.nodes, tableau.stages, strict=True)):
        values = {"t": flint.arb(moment) + exact(node) * step, **dict(zip(names, moved(row), strict=True)), **fixed}
        code = claims_.code
        rates.append(code.balls(values) if wrong is None or wrong[0] != i else spoiled(code, values, wrong[1]))
    values = dict(zip(read.equations.inputs, (flint.arb(moment) + step, *moved(tableau.weights)), strict=True))
    return ball_values([*read.equations.psi.values()], values)


def spoiled(code, values, place):
    """The rates with one operation wrong by 2⁻⁵³ of its result."""
    from holdfast.stability.verifier.reading.code import _ball

    known = [values[name] for name in code.inputs]
    for k, (op, *args) in enumerate(code.operations, len(code.inputs)):
        if op == "const":
            found = flint.arb(flint.fmpq(args[0].numerator, args[0].denominator))
        elif op == "power":
            found = known[args[0]] ** args[1]
        else:
            found = _ball(op, [known[j] for j in args], flint)
        known.append(found * (1 + flint.arb(NEXT_TO_1)) if k == place else found)
    return [known[k] for k in code.rates]


def test_slopes_confirm_what_errors_added_up_do_not(read):
    found = roundings(read)
    cells = whole(read)
    added = np.array([model.bounds(cells) for model in found._added])
    assert (found.by_slopes((0, 1)).judged(cells).max(axis=1) < added.max(axis=1)).all()


def test_a_code_that_needs_what_is_no_state_is_not_confirmed(read):
    from holdfast.stability.verifier.refusal import Unconfirmed

    code = read.claims.code
    more = (*code.inputs, "stranger")
    count = len(code.inputs)
    shifted = tuple(
        (op, *args) if op in ("const", "pi") else (op, args[0] + (args[0] >= count), args[1])
        if op == "power" else (op, *(k + (k >= count) for k in args)) for op, *args in code.operations
    )  # fmt: skip
    last = len(more) + len(shifted)
    rates = [k + (k >= count) for k in code.rates]
    foreign = Code(more, (*shifted, ("mul", rates[-1], count)), (*rates[:-1], last))
    one = claimed(read)[0]
    with pytest.raises(Unconfirmed, match="what is no state"):
        AdjointRounding(
            read.equations, foreign, [one.block.names], read.tableau, 0.005, [np.array(one.proof.factor)],
            read.claims.parameters, 1e-15,
        )  # fmt: skip


# ── all cores ─────────────────────────────────────────────────────────────────────────────────────


def test_cells_on_two_cores_are_found_as_on_one(read, monkeypatch):
    tube, fits = read.claims.tubes[0], claimed(read)
    monkeypatch.setattr(cores, "WORTH", 1)
    monkeypatch.setattr(cores, "usable_cores", lambda: 1)
    here = cores.confirmed(read, 0, tube, fits, one := Budget(math.inf, 10**6), None)
    monkeypatch.setattr(cores, "usable_cores", lambda: 2)
    shares = []
    there = cores.confirmed(read, 0, tube, fits, two := Budget(math.inf, 10**6), shares.append)
    assert (here, one.spent) == (there, two.spent)
    assert max(shares) == 1.0
    assert all(0 <= share <= 1 for share in shares)


def test_a_claim_too_small_fails_on_two_cores_too(folded, monkeypatch):
    from holdfast.stability.verifier.reading.file import digest

    data = folded.to_dict()
    data["blocks"] = data["blocks"][:1]
    data["blocks"][0]["proof"]["rounding"] = 1e-20
    data["digest"] = digest(data)
    monkeypatch.setattr(cores, "WORTH", 1)
    monkeypatch.setattr(cores, "usable_cores", lambda: 2)
    found = Recheck(reading(claims(data)), Budget(math.inf, 10**6), None, None).findings()[0]
    assert found.confirmed is False
    assert "rounding is not confirmed" in found.words


def test_a_process_that_dies_confirms_nothing(folded, monkeypatch):
    monkeypatch.setattr(cores, "WORTH", 1)
    monkeypatch.setattr(cores, "usable_cores", lambda: 2)
    monkeypatch.setattr(cores.sys, "executable", "/bin/false")
    verified = hf.verify(folded)
    assert not verified.holds
    assert "ended early" in verified.findings[0]


def test_without_an_interpreter_the_cells_are_looked_at_here(folded, monkeypatch):
    monkeypatch.setattr(cores, "WORTH", 1)
    monkeypatch.setattr(cores, "usable_cores", lambda: 2)
    monkeypatch.setattr(cores.sys, "executable", "")
    assert hf.verify(folded).holds


@pytest.mark.prove
def test_four_bar_is_confirmed_with_its_near_singular_passage():
    from pathlib import Path

    example = Path(hf.__file__).parent / "examples" / "four_bar.toml"
    certificate = hf.certify(hf.derive(hf.load(example)))
    assert {block.label.name for block in certificate.blocks} == {"tube"}
    assert hf.verify(certificate).holds
