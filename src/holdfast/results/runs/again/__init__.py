"""Runs that are asked for again: a fit or a scan makes thousands of one kind."""
