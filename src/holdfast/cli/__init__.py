"""The same verbs, typed: one file for each verb in `verbs`, and what they share here."""
