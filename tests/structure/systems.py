"""Systems of the inverse problem: rows T1 to T10 (docs/theory, section 4.3), and others from textbooks of mechanics."""

import sympy as sp

import holdfast as hf

q1, q2, q3 = hf.coordinates("q1 q2 q3")
x, y, z, s, phi, psi, r, theta = hf.coordinates("x y z s phi psi r theta")
t = hf.time
v1, v2, v3 = q1.rate, q2.rate, q3.rate
ecc, p, c, a0, a1, mu, g, k, kappa, nu = hf.parameters("ecc p c a0 a1 mu g k kappa nu")
zeta, omega, m, l, J = hf.parameters("zeta omega m l J", positive=True)


def acc(*coordinates):
    return [coordinate.acceleration for coordinate in coordinates]


def lagrange(L, D, coordinates):
    """E[L] + ∂D/∂v, written out."""
    return [hf.rate(sp.diff(L, u.rate)) - sp.diff(L, u) + sp.diff(sp.sympify(D), u.rate) for u in coordinates]


gyroscopic = [v1.rate + c * v1 + g * v2 + k * q1 - kappa * q2, 2 * v2.rate - g * v1 + 2 * c * v2 + k * q2 - kappa * q1]
radius = sp.sqrt(q1**2 + q2**2)
radial = (q1 * v1 + q2 * v2) / radius
across = (q1 * v2 - q2 * v1) / radius
line = sp.Rational(3, 5) * q1 + sp.Rational(4, 5) * q2
push = a0 * line + a1 * hf.rate(line)
wanted = -a0 * (radius - 1) - a1 * radial
half = sp.Rational(1, 2)

distance = sp.sqrt(x**2 + y**2)
alpha = distance - ecc * x - p
truncated_R = c**2 / distance**3 + (a0 - c**2 / (p * distance**3)) * alpha + a1 * hf.rate(alpha)
exact_S = (c**2 / distance**3 + a0 * alpha + a1 * hf.rate(alpha)) / (distance - ecc * x)
truncated = [p * x.acceleration + x * truncated_R, p * y.acceleration + y * truncated_R]
exact = [x.acceleration + x * exact_S, y.acceleration + y * exact_S]

# id: (f, coordinates, wide, strict, dissipative)
TABLE = {
    "T1": ([x.acceleration + 2 * zeta * omega * x.rate + omega**2 * x], (x,), True, True, True),
    "T2": (gyroscopic, (q1, q2), True, True, True),
    "T3": ([gyroscopic[0] + nu * q2, gyroscopic[1] - nu * q1], (q1, q2), True, False, False),
    "T4": ([v1.rate + v2, v2.rate + q2], (q1, q2), True, True, False),
    "T5": (
        [r.acceleration - r * theta.rate**2 + mu / r**2 + c * r.rate,
         r**2 * theta.acceleration + 2 * r * r.rate * theta.rate],
        (r, theta), True, True, True,
    ),
    "T5'": (
        [r.acceleration - r * theta.rate**2 + mu / r**2 + c * r.rate, theta.acceleration + 2 * r.rate * theta.rate / r],
        (r, theta), False, False, False,
    ),
    "T6": ([v1.rate + q3 * v2, v2.rate, v3.rate], (q1, q2, q3), False, False, False),
    "T6'": ([v1.rate + v2**2, v2.rate], (q1, q2), False, False, False),
    "T7": (
        [x.acceleration * (1 - x.rate**2) ** sp.Rational(-3, 2) + omega**2 * x + c * x.rate], (x,), True, True, True,
    ),
    "T8a": ([v1.rate + sp.Rational(3, 5) * push, v2.rate + sp.Rational(4, 5) * push], (q1, q2), True, True, True),
    "T8b": (
        [v1.rate - q1 / radius * (wanted - across**2 / radius), v2.rate - q2 / radius * (wanted - across**2 / radius)],
        (q1, q2), False, False, False,
    ),
    "T8c": (
        lagrange((v1**2 + v2**2) / 2 - a0 * (radius - 1) ** 2 / 2, radial * across**2 / radius + a1 * radial**2 / 2,
                 (q1, q2)),
        (q1, q2), True, True, False,
    ),
    "T8d": (
        lagrange(radial**2 / 2 + (across / radius) ** 2 / 2 - a0 * (radius - 1) ** 2 / 2, a1 * radial**2 / 2, (q1, q2)),
        (q1, q2), True, True, True,
    ),
    "T9": ([x.acceleration - y / (x**2 + y**2), y.acceleration + x / (x**2 + y**2)], (x, y), True, True, False),
    "T10 truncated": (truncated, (x, y), True, False, False),
    "T10 exact": (exact, (x, y), True, False, False),
}  # fmt: skip

pendulum = m * l**2 * phi.rate**2 / 2 + m * g * l * sp.cos(phi)
double = m * l**2 * (phi.rate**2 + psi.rate**2 / 2 + phi.rate * psi.rate * sp.cos(phi - psi)) + m * g * l * (
    2 * sp.cos(phi) + sp.cos(psi)
)
cart = m * (s.rate**2 + l * s.rate * phi.rate * sp.cos(phi) + l**2 * phi.rate**2 / 2) + m * g * l * sp.cos(phi)
sphere = m * l**2 * (theta.rate**2 + sp.sin(theta) ** 2 * phi.rate**2) / 2 + m * g * l * sp.cos(theta)
turning = m * l**2 * (theta.rate**2 + omega**2 * sp.sin(theta) ** 2) / 2 + m * g * l * sp.cos(theta)
magnetic = m * (x.rate**2 + y.rate**2 + z.rate**2) / 2 + k * x * y.rate - nu * z * z.rate
relativistic = -m * sp.sqrt(1 - x.rate**2 - y.rate**2) - k * (x**2 + y**2) / 2

# name: (f, coordinates, wide, strict)   further systems, from the textbooks
TEXTBOOK = {
    "pendulum with air resistance": (lagrange(pendulum, c * phi.rate**2 / 2, (phi,)), (phi,), True, True),
    "double pendulum": (lagrange(double, 0, (phi, psi)), (phi, psi), True, True),
    "double pendulum, damped joints": (
        lagrange(double, c * (phi.rate**2 + (phi.rate - psi.rate) ** 2) / 2, (phi, psi)), (phi, psi), True, True,
    ),
    "cart and pendulum": (lagrange(cart, c * s.rate**2 / 2, (s, phi)), (s, phi), True, True),
    "spherical pendulum": (lagrange(sphere, 0, (theta, phi)), (theta, phi), True, True),
    "bead on a turning hoop": (lagrange(turning, c * theta.rate**2 / 2, (theta,)), (theta,), True, True),
    "pendulum on a moving support": (
        lagrange(m * (l * phi.rate * sp.cos(phi) - omega * sp.sin(omega * t)) ** 2 / 2
                 + m * l**2 * phi.rate**2 * sp.sin(phi) ** 2 / 2 + m * g * l * sp.cos(phi), 0, (phi,)),
        (phi,), True, True,
    ),
    "particle in a magnetic field": (lagrange(magnetic, 0, (x, y, z)), (x, y, z), True, True),
    "Foucault's pendulum": (
        [x.acceleration - 2 * omega * y.rate + k * x, y.acceleration + 2 * omega * x.rate + k * y], (x, y), True, True,
    ),
    "relativistic oscillator in the plane": (lagrange(relativistic, 0, (x, y)), (x, y), True, True),
    "coupled circuits": (
        lagrange(m * q1.rate**2 / 2 + l * q2.rate**2 / 2 + kappa * v1 * v2 - k * q1**2 / 2 - nu * (q1 - q2) ** 2 / 2,
                 c * v1**2 / 2 + a1 * (v1 - v2) ** 2 / 2, (q1, q2)),
        (q1, q2), True, True,
    ),
    "gyrator between two circuits": (
        [m * v1.rate + g * v2 + k * q1, l * v2.rate - g * v1 + nu * q2], (q1, q2), True, True,
    ),
    "Duffing's oscillator, driven": (
        [x.acceleration + c * x.rate + k * x + nu * x**3 - g * sp.cos(omega * t)], (x,), True, True,
    ),
    "Van der Pol's oscillator": ([x.acceleration - mu * (1 - x**2) * x.rate + x], (x,), True, True),
    "Caldirola and Kanai's oscillator": (
        [sp.exp(c * t) * (x.acceleration + c * x.rate + omega**2 * x)], (x,), True, True,
    ),
    "quadratic drag on a line": ([m * x.acceleration + c * x.rate**3], (x,), True, True),
    "Hénon and Heiles": ([x.acceleration + x + 2 * x * y, y.acceleration + y + x**2 - y**2], (x, y), True, True),
    "Toda chain of two": (
        lagrange((v1**2 + v2**2) / 2 - sp.exp(q1 - q2), 0, (q1, q2)), (q1, q2), True, True,
    ),
    "follower force on two rods": (
        [3 * v1.rate + v2.rate + 2 * k * q1 - k * q2 - p * (q1 - q2), v1.rate + v2.rate - k * q1 + k * q2],
        (q1, q2), True, False,
    ),
    "rotor with internal damping": (
        [m * x.acceleration + c * x.rate + k * x + c * omega * y,
         m * y.acceleration + c * y.rate + k * y - c * omega * x],
        (x, y), True, False,
    ),
    "geodesics of a sphere, solved": (
        [theta.acceleration - sp.sin(theta) * sp.cos(theta) * phi.rate**2,
         phi.acceleration + 2 * theta.rate * phi.rate / sp.tan(theta)],
        (theta, phi), False, False,
    ),
    "Chaplygin's sleigh": (
        [x.acceleration + sp.sin(phi) * phi.rate * (x.rate * sp.cos(phi) + y.rate * sp.sin(phi)),
         y.acceleration - sp.cos(phi) * phi.rate * (x.rate * sp.cos(phi) + y.rate * sp.sin(phi)),
         phi.acceleration],
        (x, y, phi), False, False,
    ),
    "air drag along the velocity": (
        [x.acceleration + c * x.rate * sp.sqrt(x.rate**2 + y.rate**2),
         y.acceleration + c * y.rate * sp.sqrt(x.rate**2 + y.rate**2) + g],
        (x, y), True, True,
    ),
    "lift across the velocity": (
        [x.acceleration + c * y.rate * sp.sqrt(x.rate**2 + y.rate**2),
         y.acceleration - c * x.rate * sp.sqrt(x.rate**2 + y.rate**2)],
        (x, y), False, False,
    ),
    "unsymmetrical inertia": ([v1.rate + v2.rate + q1, v2.rate + q2], (q1, q2), False, False),
}  # fmt: skip
