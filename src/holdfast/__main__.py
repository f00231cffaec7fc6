"""``python -m holdfast`` is the command line."""

from holdfast.cli_watch import main

main()
