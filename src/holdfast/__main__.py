"""``python -m holdfast`` is the command line."""

from holdfast.cli import main

main(prog_name="holdfast")
