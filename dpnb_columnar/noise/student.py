"""Student's t noise: pure differential privacy, with tails as light as beta allows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb

from dpnb_columnar.budget.losses import Pure
from dpnb_columnar.noise.calibration import rational, upper
from dpnb_columnar.noise.cauchy import StandardCauchy
from dpnb_columnar.noise.scaled import Scaled
from dpnb_columnar.noise.standard_student import StandardStudent


@dataclass(frozen=True, slots=True)
class StudentT(Scaled):
    """Student's t noise of the smallest scale c that is private, for nu > 0 degrees of freedom.

    With y = c sqrt(nu), the density at z is proportional to (y / (y^2 + z^2))^((nu+1)/2) * y^((nu-1)/2). The first
    factor is a power of the Poisson kernel of the upper half plane at the point (location, y): the logarithm of the
    ratio of two kernels has supremum and negative infimum d, the hyperbolic distance of the points. For two neighbours
    whose scales have the ratio exp(b), b >= 0, the worst shift is min(1, exp(+-b)), and the loss, either way round, has
    the exact supremum

        (nu+1)/2 * d + |nu-1|/2 * b,    cosh d = cosh b + exp(-b) / (2 nu c^2).

    It is at most epsilon iff 1/(2 nu c^2) <= g(b) = exp(b) (cosh eta(b) - cosh b), where
    eta(b) = (2 epsilon - |nu-1| b)/(nu+1). With m = |nu-1|/(nu+1) < 1, 2 g(b) is a sum of exponentials of b with
    exponents 0, 1-m, 1+m, 2 and signs -, +, +, -. Its derivative changes sign at most once, from + to - (Descartes'
    rule for exponential sums), so on [0, beta] the smallest g is at one of the ends: c = 1/sqrt(2 nu min(g(0),
    g(beta))). As g(beta) has to be positive, epsilon > max(nu, 1) beta: the far tails lose nu beta, and the centre
    loses beta, by a dilation alone.

    One degree of freedom is the Cauchy distribution at the smallest scale. The variance is finite for nu > 2.

    Source: the family is Bun and Steinke's (2019); the distance is what ``cauchy`` uses.

    Raises:
        ValueError: Not nu > 0, or not 0 < beta < epsilon/max(nu, 1).
    """

    epsilon: Fraction
    beta: Fraction
    degrees: Fraction

    def __post_init__(self) -> None:
        if not self.degrees > 0:
            raise ValueError(f"Student's t noise needs degrees > 0, found {float(self.degrees):.6g}")
        limit = self.epsilon / max(self.degrees, Fraction(1))
        if not 0 < self.beta < limit:
            divisor = f"/{self.degrees}" if self.degrees > 1 else ""
            raise ValueError(
                f"Student's t noise of {self.degrees} degrees of freedom needs 0 < beta < epsilon{divisor} = "
                f"{float(limit):.6g}, found beta = {float(self.beta):.6g}"
            )

    @property
    def name(self) -> str:
        return f"student-{self.degrees}"

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon)

    @property
    def standard(self) -> StandardCauchy | StandardStudent:
        return StandardCauchy() if self.degrees == 1 else StandardStudent(self.degrees)

    @property
    def scale(self) -> Fraction:
        return _scale(self.epsilon, self.beta, self.degrees)


@lru_cache(maxsize=256)
def _scale(epsilon: Fraction, beta: Fraction, degrees: Fraction) -> Fraction:
    """1/sqrt(2 nu min(g(0), g(beta))), with g(b) = 2 exp(b) sinh((eta + b)/2) sinh((eta - b)/2)."""

    def admissible(b: Fraction) -> Fraction:
        eta = (2 * epsilon - abs(degrees - 1) * b) / (degrees + 1)

        def expression() -> arb:
            sinh = arb(rational((eta + b) / 2)).sinh() * arb(rational((eta - b) / 2)).sinh()
            return 1 / (4 * rational(degrees) * arb(rational(b)).exp() * sinh).sqrt()

        return upper(expression)

    return max(admissible(Fraction(0)), admissible(beta))
