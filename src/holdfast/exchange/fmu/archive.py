"""The archive: description, binary and sources in one file."""

from __future__ import annotations

import io
import zipfile
from uuid import NAMESPACE_OID, uuid5

from holdfast.errors import BadRequest
from holdfast.exchange.fmu.assembly import FmuAssembly
from holdfast.exchange.fmu.binary import binary_of
from holdfast.exchange.fmu.description import build_description, description
from holdfast.exchange.model import Model

EPOCH = (1980, 1, 1, 0, 0, 0)  # the first day of the format: the same model is the same file
VERSIONS = (2, 3)


def fmu(model: Model, version: int, tool: str) -> bytes:
    """The FMU as bytes."""
    if version not in VERSIONS:
        raise BadRequest(f"there is no FMI {version!r} here", where="fmi", fix="2 or 3")
    if model.step is None:
        raise BadRequest("co-simulation needs a step", where="step", fix="give step=")
    assembly = FmuAssembly(model, model.step)
    token = "{" + str(uuid5(NAMESPACE_OID, _identity(model))) + "}"
    made = binary_of(assembly, version, token)
    files: dict[str, bytes] = {"modelDescription.xml": description(assembly, version, token, tool).encode()}
    files[f"sources/{model.name}.c"] = assembly.c(version, token).encode()
    if version == 3:
        files["sources/buildDescription.xml"] = build_description(model.name).encode()
    if made is not None:
        files[f"binaries/{made.folder}/{model.name}.{made.suffix}"] = made.content
    return _zipped(files)


def _identity(model: Model) -> str:
    """All that the functions and their start depend on."""
    names = (model.states, model.parameters, model.observables, model.inputs)
    return repr((model.field.fingerprint, model.scheme, model.step, model.start, model.values, names))


def _zipped(files: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return held.getvalue()


def binaries(content: bytes) -> list[str]:
    """The platforms that an FMU has binaries for."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [name.split("/")[1] for name in archive.namelist() if name.startswith("binaries/")]
