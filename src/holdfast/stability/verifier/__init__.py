"""The verifier: a second, smaller program that re-checks certificates and shares no code with the search for proofs.

file          the certificate, read strictly
text          expressions of a problem text         dag         what they mean, and their derivatives
statement     the problem text                      equations   what follows from it: M, h, E, J, γ, law
forms         Taylor forms in padded doubles        functions   elementary functions of them
unknowns      accelerations by Krawczyk's operator  step        the defect of one step over cells
cells         the part of a box in the tube         cover       bisection until every cell is as claimed
contraction   the norm, γ and what bounds follow    code        the operations that are run, and their rounding
check         all of it, in words
"""
