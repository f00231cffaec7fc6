"""HTML by small elements: text is escaped unless it is `Markup`, so nothing a user wrote can become code."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Any

VOID = frozenset({"br", "meta", "input", "hr"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | Markup | None


def element(name: str, /, *children: Child, **attributes: Any) -> Markup:
    """One element; ``_`` in attribute names is written ``-``, and ``class_`` is ``class``. None and False leave out."""
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in VOID:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def _attribute(key: str, value: Any) -> str:
    if value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f' {name}="{escape(name if value is True else str(value), quote=True)}"'


def joined(*children: Child) -> Markup:
    """Children one after the other, each escaped unless it is markup."""
    return Markup("".join(child if isinstance(child, Markup) else _text(child) for child in children if child))


def _text(text: str) -> str:
    """Escaped; a number and its power of ten, and a bound and its sign, stay in one line."""
    return escape(text).replace(" × 10", "\u00a0×\u00a010").replace("≤ ", "≤\u00a0")


def paragraph(*children: Child, class_: str | None = None) -> Markup:
    return element("p", *children, class_=class_)


def code(text: str) -> Markup:
    return element("code", text)


def table(head: list[Child], rows: list[list[Child]], class_: str | None = None) -> Markup:
    """A table in a box of its own that scrolls sideways where the page is narrow."""
    top = element("tr", *(element("th", cell, scope="col") for cell in head))
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    inner = element("table", element("thead", top), element("tbody", *body), class_=class_)
    return element("div", inner, class_="scroll", tabindex="0")


def bullets(items: list[Child], class_: str | None = None) -> Markup:
    return element("ul", *(element("li", item) for item in items), class_=class_)


def details(summary: str, *children: Child, opened: bool = False) -> Markup:
    return element("details", element("summary", summary), *children, open=opened)


def policy(style: str, script: str) -> str:
    """The content policy of a page with exactly this style and script: nothing else runs, and nothing is fetched."""
    return (
        f"default-src 'none'; style-src '{_source(style)}'; script-src '{_source(script)}'; "
        "font-src data:; base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def document(*, title: str, style: str, script: str, body: Markup) -> str:
    """A whole page with its one style and one script, both named by their hash in the policy."""
    for text in (style, script):
        if "</" in text:
            raise ValueError("the page's own style or script contains '</'")
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Markup(style)),
    )
    page = element("html", element("head", head), element("body", body, element("script", Markup(script))), lang="en")
    return f"<!doctype html>\n{page}\n"
