"""When noise is zero-concentrated differentially private: a condition on the score.

Move from one neighbour to the other along scale exp(b tau) and location m with m' = a times the scale, 0 <= tau <= 1,
|b| <= beta, |a| <= 1; every admissible neighbour is reached so (docs/privacy.md, section 5). With u = (z - m)/scale,
h the density of Z and psi = (log h)', the log-density at a point changes at the rate

    s = -b (1 + u psi(u)) - a psi(u),    u distributed as Z.

**Condition.** If log E exp(mu s) <= mu^2 kappa^2 / 2 for every real mu, the Renyi divergence of order alpha between the
ends, either way round, is at most alpha kappa^2 / 2: one release is kappa^2/2-zCDP.

*Proof.* Let M(tau, alpha) be the logarithm of the integral of p_tau^alpha p_0^(1-alpha), and w its integrand as a
density. Then dM/dtau = alpha E_w s. By Gibbs' variational principle mu E_w s <= KL(w, p_tau) + mu^2 kappa^2/2, and
KL(w, p_tau) = (alpha - 1) dM/dalpha - M. Follow the curve alpha = k/tau with mu = (alpha - 1) tau = k - tau: there

    dM <= (-(alpha/mu) M + alpha mu kappa^2/2) dtau,

which G = alpha (alpha - 1) tau^2 kappa^2/2 satisfies with equality. So (M - G) tau/(k - tau) never grows. It starts
from 0, since M stays bounded (|log p_tau/p_0| / tau has all exponential moments), hence M <= G, and at tau = 1 the
divergence M/(alpha - 1) is at most alpha kappa^2/2. Reversing the path changes the sign of s, that is of mu. []

For small rho the condition is all but exact. At beta = kappa/10 it needs about half the noise of the published bounds
(Bun and Steinke 2019), which pay for shift and dilation one after the other.

The logarithm of E exp(mu s) is convex in (a, b) and Z is symmetrical, so b = beta and a = 1 suffice. There

    E exp(mu s) = E exp(mu beta A) cosh(mu B),    A = 1 + u psi(u), B = |psi(u)|,    mu of either sign,

an integral over |Z| of two known functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpnb_columnar.noise.family import Floats

SMALLEST_ORDER = 1e-3
ZOOMS, ZOOMED = 2, 9


@dataclass(frozen=True, slots=True)
class Scores:
    """The two parts of a standard shape's score, as a quadrature over |X|.

    Attributes:
        log_weights: Logarithms of the nodes' probabilities, shape (nodes,).
        dilation: 1 + x psi(x) at the nodes, shape (nodes,); at most 1, as the density falls from 0.
        shift: |psi(x)| at the nodes, shape (nodes,).
        sigma: A number for which E exp(-m (1 + X psi)) <= 2 exp(m^2 / (2 sigma^2)) for all m >= 0.
    """

    log_weights: Floats
    dilation: Floats
    shift: Floats
    sigma: float

    @classmethod
    def normalised(cls, log_weights: Floats, dilation: Floats, shift: Floats, sigma: float) -> Scores:
        """With weights in proportion; they are made to add up to 1."""
        top = float(np.max(log_weights))
        total = top + math.log(float(np.sum(np.exp(log_weights - top))))
        return cls(log_weights - total, dilation, shift, sigma)

    def information(self, beta: float, speed: float) -> float:
        """Variance of the score, the limit of ``steepness`` as mu falls to 0."""
        weights = np.exp(self.log_weights)
        return float(weights @ (beta * self.dilation) ** 2 + weights @ (speed * self.shift) ** 2)

    def farthest_order(self, beta: float, speed: float) -> float:
        """A number beyond which no |mu| needs a look, if kappa is 1 and beta < sigma.

        With B at most ``bound``, log E exp(mu s) <= log 2 + mu^2 beta^2/(2 sigma^2) + |mu| bound where mu (1 + X psi)
        is negative, and <= |mu| (beta + bound) where it is positive; solved for mu^2/2.
        """
        bound, gap = speed * float(np.max(self.shift)), 1 - (beta / self.sigma) ** 2
        return max((bound + math.sqrt(bound**2 + 2 * gap * math.log(2))) / gap, 2 * (beta + bound))

    def steepness(self, beta: float, speed: float, orders: int) -> float:
        """The largest 2 log E exp(mu s) / mu^2 over all mu, for kappa = 1: private if at most 1.

        Args:
            beta: Largest rate of the scale's logarithm.
            speed: Shift in units of the scale, 1/c.
            orders: How many mu of each sign to try before closing in on the largest.
        """
        sizes = np.geomspace(SMALLEST_ORDER, self.farthest_order(beta, speed), orders)
        largest = self.information(beta, speed)
        for sign in (-1, 1):
            tried = sizes
            for _ in range(1 + ZOOMS):
                found = self._steepness_at(sign * tried, beta, speed)
                largest, best = max(largest, float(np.max(found))), int(np.argmax(found))
                tried = np.linspace(tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)], ZOOMED)
        return largest

    def _steepness_at(self, mu: Floats, beta: float, speed: float) -> Floats:
        turned = np.outer(np.abs(mu) * speed, self.shift)
        log_cosh = turned + np.log1p(np.exp(-2 * turned)) - math.log(2)
        exponent = np.outer(mu * beta, self.dilation) + log_cosh + self.log_weights
        top = np.max(exponent, axis=1, keepdims=True)
        mean: Floats = top[:, 0] + np.log(np.sum(np.exp(exponent - top), axis=1))
        return 2 * mean / mu**2
