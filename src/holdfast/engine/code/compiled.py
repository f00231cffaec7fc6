"""Compiled code as it is kept: an image or an object file, with all that running it takes.

one line of JSON      the functions with their signatures, the layout, and of an image its places
the rest              machine code
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from holdfast.engine.code import native
from holdfast.engine.code.image import Image, LoadedImage, outside_address
from holdfast.engine.code.layout import Layout
from holdfast.engine.code.link import linked
from holdfast.engine.emit.target import Signature

EXPORTED = (
    "rates", "body", "start_blocks", "event_values", "take_step", "free_step", "fixed", "fixed_blocks", "adaptive",
    "many", "returned",
)  # fmt: skip


class Loaded(Protocol):
    """Code in memory; functions by name, alive as long as this is."""

    functions: dict[str, Callable[..., Any]]


@dataclass(frozen=True, eq=False)
class Code:
    """The machine code of an assembly."""

    content: Image | bytes  # an object file where it could not be linked
    signatures: Mapping[str, Signature]
    layout: Layout

    @staticmethod
    def of(object_file: bytes, signatures: Mapping[str, Signature], layout: Layout) -> Code:
        """An image where that can be made, and the object file elsewhere."""
        image = linked(object_file)
        with suppress(LookupError, OSError):
            if image is not None and all(map(outside_address, image.outside)):
                return Code(image, signatures, layout)
        return Code(object_file, signatures, layout)

    def loaded(self) -> Loaded:
        """The functions, in memory and ready to be called."""
        if isinstance(self.content, Image):
            return LoadedImage(self.content, self.signatures)
        return native.LoadedObject(self.content, self.signatures)

    def to_bytes(self) -> bytes:
        """As it is kept."""
        head: dict[str, Any] = {"signatures": dict(self.signatures), "layout": asdict(self.layout)}
        content = self.content
        if isinstance(content, Image):
            exported = {name: content.functions[name] for name in self.signatures}
            head["image"] = {"functions": exported, "outside": dict(content.outside)}
        machine_code = content.code if isinstance(content, Image) else content
        return json.dumps(head).encode() + b"\n" + machine_code

    @staticmethod
    def from_bytes(kept: bytes) -> Code:
        """What `to_bytes` gave."""
        line, _, machine_code = kept.partition(b"\n")
        head = json.loads(line)
        places = head.get("image")
        return Code(
            Image(machine_code, places["functions"], places["outside"]) if places else machine_code,
            {name: Signature(tuple(arguments), returns) for name, (arguments, returns) in head["signatures"].items()},
            Layout(**head["layout"]),
        )
