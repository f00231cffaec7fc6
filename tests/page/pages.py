"""Pages of the shipped examples, each made once for all tests (and for both workers of a parallel run)."""

import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import holdfast as hf

EXAMPLES = sorted((Path(hf.__file__).parent / "examples").glob("*.toml"))
CERTIFIED = {"cart_rod", "mixed_holders", "piston_line", "rlc"}  # the quick ones; effort is what makes the others slow
RAW = re.compile(r"<(style|script)>.*?</\1>", re.DOTALL)
VOID_DOCTYPE = "<!doctype html>\n"


def made(name, certified=None):
    """The report of a shipped example; certified where that is quick."""
    file = next(file for file in EXAMPLES if file.stem == name)
    equations = hf.derive(hf.load(file))
    run = hf.simulate(equations)
    wanted = name in CERTIFIED if certified is None else certified
    certificate = hf.certify(equations, trajectory=run, effort=0.5) if wanted else None
    return hf.report(run, certificate, command=f"holdfast run {name}.toml")


@cache
def page(name, folder):
    """The path and text of an example's page; kept on disk, so that each is drawn once."""
    path = Path(folder) / f"{name}.html"
    if not path.exists():
        made(name).save(path)
    return path, path.read_text("utf-8")


def parsed(html):
    """The page as a tree: it is written so that an XML reader takes it too, style and script apart."""
    assert html.startswith(VOID_DOCTYPE)
    return ElementTree.fromstring(RAW.sub(r"<\1></\1>", html.removeprefix(VOID_DOCTYPE)))


def section_names(html):
    return [part.get("id") for part in parsed(html).iter("section")]


def attribute_names(tree):
    return {key for part in tree.iter() for key in part.attrib}
