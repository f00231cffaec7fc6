"""``python -m holdfast`` is the command line."""

import sys

del sys.path[0]  # the current folder, which -m puts there: it came with a problem, and is no place for code

from holdfast.cli_watch import main  # noqa: E402

main()
