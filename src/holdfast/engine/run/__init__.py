"""From machine code to rows: fixed and adaptive loops, events, dense output, how a run ended."""
