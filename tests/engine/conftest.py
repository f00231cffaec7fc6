"""The engine's tests keep their compiled objects to themselves, so that each run compiles."""

import shutil

import pytest

from tests.engine.emulated_card import EmulatedCard


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLDFAST_CACHE", str(tmp_path_factory.mktemp("cache") / "holdfast"))
        yield


@pytest.fixture
def emulated(tmp_path, monkeypatch):
    """A graphics card, played by the system's C++ compiler."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ to emulate a card with")
    from holdfast.engine.cuda import device, ensemble

    card = EmulatedCard(tmp_path)
    monkeypatch.setattr(ensemble, "card", lambda: card)
    monkeypatch.setattr(device, "card", lambda: card)
    monkeypatch.setattr(ensemble, "machine_code", lambda text, capability: text)
    return card
