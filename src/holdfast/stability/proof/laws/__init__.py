"""Laws that vary or are not linear: their terms over one step, and how they contract over a region."""
