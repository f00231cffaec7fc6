"""HTML and MathML, escaped."""
