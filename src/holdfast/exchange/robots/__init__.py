"""Mechanisms described for robots: URDF, and a part of MJCF."""
