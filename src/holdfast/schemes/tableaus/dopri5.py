"""DOPRI5: Dormand and Prince's pair of orders 5 and 4, with Shampine's interpolant of order 4."""

from fractions import Fraction as F

from holdfast.schemes.kinds.embedded import Embedded
from holdfast.schemes.kinds.runge_kutta import RungeKutta

DOPRI5 = Embedded(
    main=RungeKutta(
        name="dopri5",
        order=5,
        stages=(
            (),
            (F(1, 5),),
            (F(3, 40), F(9, 40)),
            (F(44, 45), F(-56, 15), F(32, 9)),
            (F(19372, 6561), F(-25360, 2187), F(64448, 6561), F(-212, 729)),
            (F(9017, 3168), F(-355, 33), F(46732, 5247), F(49, 176), F(-5103, 18656)),
        ),
        weights=(F(35, 384), F(0), F(500, 1113), F(125, 192), F(-2187, 6784), F(11, 84)),
    ),
    error=((F(71, 57600), F(0), F(-71, 16695), F(71, 1920), F(-17253, 339200), F(22, 525), F(-1, 40)),),
    dense=(
        (
            F(-12715105075, 11282082432),
            F(0),
            F(87487479700, 32700410799),
            F(-10690763975, 1880347072),
            F(701980252875, 199316789632),
            F(-1453857185, 822651844),
            F(69997945, 29380423),
        ),
    ),
    dense_order=4,
    exponent=F(1, 5),
    feedback=F(4, 100),
    shrink=F(1, 5),
    growth=F(10),
)
