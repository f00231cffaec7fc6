"""Cures as they are typed: errors word them for callers in Python; here a call becomes a key, an option or a command.

One table says what stands in a problem file, or on the command line, for what a program would write. A clause for which
nothing can be typed is left out where another remains; where none does, it is said to be for Python.
"""

from __future__ import annotations

import re

RUN_WORDS = (  # options, and keys of [run]
    "scheme", "step", "tolerance", "duration", "every", "start_policy", "longest_step", "absolute",
)  # fmt: skip
ARGUMENT = re.compile(rf"\b({'|'.join(RUN_WORDS)})=([\w.\"-]*)")  # as errors write it for callers
CALLED = r"\b(?:System|Program|Run|Problem|assemble|simulate)\(|\(equations"
PYTHON = re.compile(rf"\bhf\.|(?<!--along )(?<!--parameters )\b[a-z_]+=(?!=)|{CALLED}")
CLAUSES = re.compile(r"(; |, or |, and | or (?=hf\.))")
CALL = r"\((?:[^()]|\([^()]*\))*\)"  # brackets of a call, with one pair inside

CURES: tuple[tuple[str, str], ...] = (
    # what a problem file states
    (r"System\(points=\{\.\.\.\}\) or \[points\] in the file", "[points] in the file"),
    (rf"System\(noise={{.*?}}\), or a table \[system\.noise\]|System\(noise={CALL}\)", "a table [system.noise]"),
    (rf"System\(masses={{name: hf\.MovingMass{CALL}}}\)", "a table [system.masses.NAME]"),
    (rf"(?:it as )?hf\.MovingMass{CALL}", "a table [system.masses.NAME]"),
    (r"streams=\(hf\.Stream\(velocity=\(\.\.\.\)\),\)", "streams = [{ velocity = [...] }]"),
    (r"velocity=\(\.\.\.\) absolute", "velocity = [...] absolute"),
    (r"relative=True", "relative = true"),
    (r"thrust=\(0, \"P2\", \"P3\"\)", 'thrust = [0, "P2", "P3"]'),
    (r"thrust=\(\.\.\.\)", "thrust = [...]"),
    (r"\(reactions=\.\.\.\)", "([program] reactions = [...])"),
    (r"(?:name some in )?Program\(controls=\.\.\.\)", "name some in [program.controls]"),
    (r"(?:hf\.)?Program\(holonomic=(?:\{?\.\.\.\}?)\)", "[program.holonomic]"),
    (r"hf\.Program\(\.\.\.\)", "a table [program]"),
    (r"\{\"swing\": hf\.Phase\(\.\.\.\), \.\.\.\}", "tables [phases.NAME]"),
    (r"hf\.Phase\([^)]*\)", "a table [phases.NAME]"),
    (r"(?<!hf\.)Run\(begin=\.\.\.\)", "[run] begin = ..."),
    (r"(?:run=)?hf\.Run\([^)]*\)", "[run]"),
    (r"hf\.tuned\(problem, hf\.RK4, step=\.\.\., duration=\.\.\.\), or state ", "state step and duration in "),
    (r"e\.g\. hf\.critically_damped\(rate\), or hf\.from_roots\(.*\)$", '[program.law] kind = "critically-damped"'),
    (r"hf\.critically_damped\(rate\)", '[program.law] kind = "critically-damped", rate = ...'),
    (r"hf\.SpringDamper\(damping=([\d.]+)\)", r'[program.law] kind = "spring-damper", damping = \1'),
    (r"hf\.LinearLaw\(\{\"angle\": \(([^)]*)\)\}\)", r'[program.law] kind = "linear", coefficients = { angle = [\1] }'),
    (r"declare it: parameters=\{(\w+): None\}", r"declare it in [parameters]: \1 = ..."),
    (r"(?:give another: )?parameters=\{\"([^\"]*)\": ([^}]*)\}", r"--parameters \1=\2"),
    (r"parameters=\{\.\.\.\}", "[parameters] NAME = ..."),
    (r"cases=\{\"m\": \[1, 2, 3\]\}", "[ensemble] zip = { m = [1, 2, 3] }"),
    (r"hf\.grid\(\{\"m\": \[1, 2\]\}\)|hf\.grid\(\.\.\.\)", "[ensemble] grid"),
    (r", or give cases=\.\.\. in the call", ""),
    (r"(?:give |e\.g\. )?region=\{[\"']?(\w+)[\"']?: \(([^)]*)\)\}", r"[certificate] region = { \1 = [\2] }"),
    (r"give epsilon=, the size", "[lyapunov] epsilon = ..., or --epsilon, the size"),
    (r"give curvature=", "[lyapunov] curvature = ..."),
    (r"name the constraints of V: constraints=\(\.\.\.\)", "name the constraints of V in [lyapunov]"),
    (r"y = hf\.deviations\(\"rod\"\): V in y and y\.rate", "[lyapunov] function in y_NAME and w_NAME"),
    (r"^give V(?=;)", '[lyapunov] function = "..."'),
    (r": hf\.gains_from\(\(k, b, 1\)\)", ""),
    (r"hf\.function\(name, of=\(\.\.\.\)\), of = \[\.\.\.\] in a file", "of = [...] in [functions]"),
    (r"\(x\.rate; hf\.rate\(e\) of an expression, not SymPy's diff\)", "(x_dot; ddt(e) of an expression)"),
    (r"part='controller'", "--controller"),
    (r"\(inputs=[^)]*\)", "(--input NAME)"),
    # options
    (r'device="(\w+)"', r"--device \1"),
    (r'precision="(\w+)"', r"--precision \1"),
    (r"no precision=", "no --precision"),
    (r'on="(\w+)"', r"--on \1"),
    (r'to="(\w+)"', r"--to \1"),
    (r'method="([\w ]+)"', r'method = "\1"'),
    (r"columns=\[\.\.\.\]", "--columns"),
    (r"of=\[\"(\w+)\"\]", r"--of \1"),
    (r"along=\{\"(\w+)\": \(([^,]*), ([^)]*)\)\}", r"--along \1=\2:\3"),
    (r"save=\"run\.npz\"", "-o run.npz"),
    (r",? (?:and|or)? ?without at=|without at=", ""),
    (r", at=\[\.\.\.\] those at times with a common spacing", ""),
    (r", or ask for these times with at=|ask for the times with at=, or ", ""),
    # commands
    (rf"`?hf\.simulate`?(?:{CALL})?|simulate\(equations, parameters=fit\.parameters\)", "`holdfast simulate FILE`"),
    (r" with hf\.DOP853", " --scheme dop853"),
    (rf"hf\.certify{CALL}\.save\(path\) and holdfast certify -o write", "`holdfast certify FILE -o` writes"),
    (rf"hf\.certify(?:{CALL})?", "`holdfast certify FILE`"),
    (r"`holdfast run` and hf\.tuned\(problem\) choose", "`holdfast run FILE` chooses"),
    (rf"hf\.tuned{CALL}", "`holdfast tune FILE`"),
    (rf"hf\.conditions(?:{CALL})?", "`holdfast conditions FILE`"),
    (rf"hf\.spectrum(?:{CALL})?", "`holdfast check FILE --deep`"),
    (rf"hf\.lyapunov{CALL}\.positive and \.decreasing hold", "`holdfast lyapunov FILE` holds"),
    (rf"hf\.lyapunov(?:{CALL})?", "`holdfast lyapunov FILE`"),
    (r"hf\.sample_paths|hf\.deviation_covariance", "`holdfast sample FILE`"),
    (rf"hf\.canonical(?:{CALL})?", "`holdfast forms FILE --form hamilton`"),
    (rf"hf\.(appell|maggi|routh)(?:{CALL})?", r"`holdfast forms FILE --form \1`"),
    (rf"hf\.family{CALL}", "`holdfast family FILE`"),
    (rf"hf\.lagrangian{CALL}", "`holdfast lagrangian FILE`"),
    (r"hf\.two_stage\(alpha\)", "two-stage schemes"),
    (r"use hf\.derive$", "`holdfast derive FILE`"),
    (rf"hf\.load{CALL}(?: gives one)?$", "name a problem file"),
    (r"(?<=e\.g\. )hf\.RK4", "rk4"),
)
TABLE = tuple((re.compile(pattern), word) for pattern, word in CURES)


def typed(fix: str, *, by_option: bool) -> str:
    """A cure in the words of the command line: options where some were given, else keys of the file."""
    for pattern, word in TABLE:
        fix = pattern.sub(word, fix)
    fix = ARGUMENT.sub(_option if by_option else _entry, fix)
    if not PYTHON.search(fix):
        return fix
    return _without_calls(fix) or f"in Python: {fix}"


def _without_calls(fix: str) -> str:
    """The clauses that can be typed."""
    first, *rest = CLAUSES.split(fix)
    kept = [] if PYTHON.search(first) else [first]
    for joint, clause in zip(rest[::2], rest[1::2], strict=True):
        if not PYTHON.search(clause):
            kept += [joint, clause] if kept else [clause]
    return "".join(kept)


def _option(argument: re.Match[str]) -> str:
    """An argument of a call as it is typed: ``--step 0.1`` for ``step=0.1``."""
    return f"--{argument[1].replace('_', '-')} {argument[2]}".rstrip()


def _entry(argument: re.Match[str]) -> str:
    """An argument of a call as the problem file has it: ``[run] step = 0.1`` for ``step=0.1``."""
    return f"[run] {argument[1]} = {argument[2] or '...'}"
