"""``python -m holdfast`` is the command line."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the current folder, which -m puts there: it came with a problem, and is no place for code

from holdfast.cli.watch import main

main()
