"""The engine's tests keep their compiled objects to themselves, so that each run compiles."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLDFAST_CACHE", str(tmp_path_factory.mktemp("cache") / "holdfast"))
        yield
