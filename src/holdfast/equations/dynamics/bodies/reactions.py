"""What a joint of the tree passes on to the body it carries: a force and a moment, in the axes of that body.

    reaction = Σ inertia − weight − what is applied to all that the joint carries

The last is found by virtual work: the joint is given a small displacement ε and turn δ that it does not have, and what
potentials, losses, other rows and controls do along it is applied. Forces on coordinates act within joints, and are
part of what these pass on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.equations.dynamics.bodies.composite import wrenches
from holdfast.equations.dynamics.bodies.tree import tree_of
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.errors import BadRequest
from holdfast.graph.derivatives import directional, gradient
from holdfast.graph.nodes import Node, substitute
from holdfast.graph.space import plus, turned_back, turned_by
from holdfast.graph.walk import Walker
from holdfast.problem.bodies.frames import in_space
from holdfast.problem.bodies.topology import Link
from holdfast.problem.system import System

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations

PARTS = ("fx", "fy", "fz", "mx", "my", "mz")
IN_PLANE = ("fx", "fy", "mz")


def reaction_names(system: System) -> dict[str, str]:
    """The names of reactions, each with its joint: those of joints of the tree that hold anything."""
    if system.frames is None:
        return {}
    parts = IN_PLANE if system.frames.layout.plane else PARTS
    links = [link for link in system.frames.layout.links if _holds(link, system)]
    return {f"{link.joint}_{part}": link.joint for link in links for part in parts}


def _holds(link: Link, system: System) -> bool:
    joint = system.joints.get(link.joint)
    return joint is not None and joint.kind != "free" and bool(link.steps)


def joint_reaction(equations: Equations, joint: str) -> dict[str, Node]:
    """The force on the body that a joint carries, at the joint, and the moment there; in the axes of the body."""
    system, inputs = equations.problem.system, equations.inputs
    if system.kinetic != 0 or system.masses:
        raise BadRequest(
            "reactions of joints are known where bodies alone have inertia",
            where="system.kinetic" if system.kinetic != 0 else "system.masses",
            fix="state those masses as bodies, welded where they are",
        )
    assert system.frames is not None
    link = next(link for link in system.frames.layout.links if link.joint == joint)
    tree = tree_of(system, inputs, regroup=False)
    placed = tree.bodies[link.body]
    force, moment = wrenches(tree, list(inputs.q), list(inputs.v), equations.solution.accelerations)[placed.frame]
    found = [*turned_back(placed.turn, force), *turned_back(placed.turn, moment)]
    applied = _Virtual(equations, link).work()
    total = dict(zip(PARTS, (a - b for a, b in zip(found, applied, strict=True)), strict=True))
    chosen = IN_PLANE if system.frames.layout.plane else PARTS
    return {f"{joint}_{part}": total[part] for part in chosen}


@dataclass(frozen=True, eq=False)
class _Virtual:
    """A joint with a displacement that it does not have."""

    equations: Equations
    link: Link

    def work(self) -> list[Node]:
        """What is applied along each component of the displacement."""
        inputs, system, graph = self.equations.inputs, self.equations.problem.system, self.equations.inputs.graph
        shifts = [graph.input(f"virtual {self.link.joint} {part}") for part in PARTS]
        speeds = [graph.input(f"virtual rate {self.link.joint} {part}") for part in PARTS]
        walk = self._walker(inputs, shifts, speeds)
        program, solution = self.equations.problem.program, self.equations.solution
        terms = [(-graph.one, walk(system.potential), shifts), (-graph.one, walk(system.dissipation), speeds)]
        held = dict(zip(program.held_by_reaction, solution.mu, strict=False))
        terms += [(held[n], walk(row), shifts) for n, row in program.holonomic.items() if n in held]
        terms += [(held[n], walk(row), speeds) for n, row in program.nonholonomic.items() if n in held]
        for name, value in self.equations.controls_nodes.items():
            for along, size in program.controls[name].items():
                if along in system.definitions:
                    terms.append((value * walk(size), walk.names[along], shifts))
        pushes = [graph.zero] * 6
        for factor, node, by in terms:
            slopes = gradient(node, by)
            pushes = [p + factor * slopes.get(x, graph.zero) for p, x in zip(pushes, by, strict=True)]
        return substitute(pushes, {node: graph.zero for node in (*shifts, *speeds)})

    def _walker(self, inputs: Inputs, shifts: Sequence[Node], speeds: Sequence[Node]) -> Walker:
        """Definitions walked anew, with the body moved by the displacement, and all that it carries."""
        system = self.equations.problem.system
        along = inputs.direction | dict(zip(shifts, speeds, strict=True))
        walk = inputs.walk.beside({}, rate=lambda node: directional([node], along)[0])
        own = self._moved(inputs, shifts, speeds)
        for name, expression in system.definitions.items():
            if name in own:
                walk.names[name] = own[name]
            else:
                walk.define(name, expression)
        return walk

    def _moved(self, inputs: Inputs, shifts: Sequence[Node], speeds: Sequence[Node]) -> dict[str, Node]:
        """Origin, axes and spin of the body after the displacement."""
        made = self.equations.problem.system.frames
        assert made is not None
        body, graph, names = self.link.body, inputs.graph, inputs.walk.names
        frame = made.frames.found[body]
        axes = [[inputs.walk(part) for part in row] for row in frame.axes]
        inner = [inputs.walk(part) for part in in_space(made.frames.offset(body, self.link.inner))]
        x, y, z = shifts[3:]
        turn = [[graph.one, -z, y], [z, graph.one, -x], [-y, x, graph.one]]
        turned = [[graph.dot(row, [turn[k][j] for k in range(3)]) for j in range(3)] for row in axes]
        place = [inputs.walk(part) for part in frame.place]
        moved = plus(place, turned_by(axes, inner), turned_by(axes, list(shifts[:3])))
        moved = [a - b for a, b in zip(moved, turned_by(turned, inner), strict=True)]
        found = {f"{body}_{c}": part for c, part in zip("xyz", moved, strict=True)}
        if made.layout.plane:
            found |= {f"{body}_angle": names[f"{body}_angle"] + z, f"{body}_w": names[f"{body}_w"] + speeds[5]}
        else:
            found |= {f"{body}_r{i + 1}{j + 1}": turned[i][j] for i in range(3) for j in range(3)}
            found |= {f"{body}_w{c}": names[f"{body}_w{c}"] + s for c, s in zip("xyz", speeds[3:], strict=True)}
        return found
