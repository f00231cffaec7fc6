"""Zero tests, normal forms and integrals, under a time limit."""
