"""The loops of a run, each written once in a small part of Python (`language`) and translated for every target."""
