"""Figures are drawn without a window; pages are shared between the tests of a run."""

import matplotlib as mpl
import pytest

mpl.use("Agg")


@pytest.fixture(scope="session")
def shelf(tmp_path_factory, worker_id="master"):
    """A folder that all workers of one run share."""
    base = tmp_path_factory.getbasetemp()
    root = base.parent if base.name.startswith("popen-") else base
    folder = root / "pages"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
