"""Runs on disk: npz, NetCDF and csv; every field of a file is checked when it is read."""
