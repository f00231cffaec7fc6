"""Problem files, units, run files and certificates as Hypothesis draws them: by the grammar, and then one step off it.

Where `mutants` changes good files blindly and fast, these are built from the grammar, so that a failure shrinks to the
smallest file that shows it.
"""

import copy
import itertools

from hypothesis import strategies as st

from tests.fuzz.mutants import FUNCTIONS, HOSTILE, NUMBERS, PLAIN, UNITS
from tests.results.damage import ODD, paths

NAMES = ("x", "y", "x_dot", "y_dot", "m", "k", "d", "t", "pi")
HONEST = st.sampled_from(("1", "2", "0.5", "10", "1e-3"))
QUOTED, KINETIC, HELD = '"{}"'.format, '"m*(x_dot**2 + y_dot**2)/2 + 0.01*{}"', '"x + y/2 - {}"'
LAWS = ("spring-damper",) * 4 + ("baumgarte", "critically-damped", "roots", "general", "unstabilised", "none such")


def expressions(names=NAMES):
    """Formulas that the grammar allows, whatever they mean."""

    def larger(part):
        return st.one_of(
            st.builds("({}{}{})".format, part, st.sampled_from("+ - * / **".split()), part),
            st.builds("{}({})".format, st.sampled_from(FUNCTIONS), part),
            st.builds("{}({}, {})".format, st.sampled_from(("atan2", "min", "max")), part, part),
        )

    leaves = st.sampled_from(names) | st.sampled_from(("1", "2", "1/3", "0.5")) | st.sampled_from(NUMBERS)
    return st.recursive(leaves, larger, max_leaves=4)


def unit_texts():
    """Units by their grammar, deep ones and long ones among them, and texts that are none."""
    base = st.sampled_from(("m", "kg", "s", "N", "rad", "A", "V", "mm", "1", "hour"))

    def larger(part):
        return st.one_of(
            st.builds("{} {}".format, part, part),
            st.builds("{}/{}".format, part, part),
            st.builds("({})".format, part),
            st.builds("{}^{}".format, part, st.sampled_from(("2", "-1", "1/2", "99999999999", "0", "(3)"))),
        )

    return st.recursive(base, larger, max_leaves=12) | st.sampled_from(UNITS) | st.text(max_size=12)


@st.composite
def problem_texts(draw):
    """A problem file by the grammar; in every other one, one part is replaced by something else."""
    places = itertools.count()
    odd = draw(st.integers(-12, 11))  # the part that is replaced; none where it is negative

    def one(strategy):
        if next(places) == odd:
            return draw(st.sampled_from(PLAIN) | st.sampled_from(HOSTILE).map('"{}"'.format))
        return draw(strategy)

    lines = ["schema = 1", "[system]", 'coordinates = ["x", "y"]']
    lines += [f"kinetic = {one(expressions().map(KINETIC.format))}", f"potential = {one(expressions().map(QUOTED))}"]
    lines += ["[definitions]", f"d = {one(expressions(NAMES[:2]).map(QUOTED))}"]
    lines += ["[parameters]", f"m = {one(HONEST)}", f"k = {one(HONEST)}"]
    if draw(st.booleans()):
        lines += ["[program.holonomic]", f"held = {one(expressions(NAMES[:2]).map(HELD.format))}"]
        lines += ["[program.law]", f"kind = {one(st.sampled_from(LAWS).map(QUOTED))}"]
        lines += [f"stiffness = {one(HONEST)}", f"damping = {one(HONEST)}"]
    lines += ["[start]", f"x = {one(HONEST)}", "[run]", f"step = {one(HONEST)}", f"duration = {one(HONEST)}"]
    if draw(st.booleans()):
        lines += ["[units]", f"x = {one(unit_texts().map(_in_quotes).map(QUOTED))}"]
    return "\n".join(lines) + "\n"


def _in_quotes(text):
    """What a TOML string may hold of a text."""
    return "".join(letter for letter in text if letter.isprintable() and letter not in '"\\\\')


@st.composite
def altered(draw, data):
    """Data of tables and lists with one entry removed, or replaced by an odd one."""
    data = copy.deepcopy(data)
    *way, last = draw(st.sampled_from([path for path in paths(data) if path]))
    owner = data
    for key in way:
        owner = owner[key]
    if draw(st.booleans()):
        del owner[last]
    else:
        owner[last] = draw(st.sampled_from(ODD) | st.floats(allow_nan=False) | st.text(max_size=8))
    return data
