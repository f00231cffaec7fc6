"""The kinds of scheme: what each consists of, checked when it is made."""
