"""Figures as inline SVG."""
