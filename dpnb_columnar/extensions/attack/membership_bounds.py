"""What a guarantee says of every attack on one model: bounds on its rates, and how surely rows contradict them.

The rows attacked are members or others. Assumed is that each of them came to be a member by itself, with the same
probability q, whatever its values and whatever became of all other rows: as ``split`` divides rows, or units. An attack
sees the model and the rows, and flags those that it takes for members.

*Rates.* An (epsilon, delta)-differentially private release makes no event more than exp(epsilon) times as likely, delta
aside, by one row more or less. Let the event be that row i is flagged, in its complement as well; then over q and noise

    TPR <= exp(epsilon) FPR + delta    and    1 - FPR <= exp(epsilon) (1 - TPR) + delta                             (1)

(Kairouz, Oh and Viswanath 2015, "The composition theorem for differential privacy", Theorem 2.1 and its converse;
Wasserman and Zhou 2010). The largest TPR - FPR under (1) is where both hold with equality, at FPR = a = (1 - delta) /
(1 + exp(epsilon)), TPR = 1 - a: (exp(epsilon) - 1 + 2 delta) / (exp(epsilon) + 1), which is below the exp(epsilon) - 1
of Yeom, Giacomelli, Fredrikson and Jha (2018, "Privacy risk in machine learning", Theorem 1). The area under the curve
through (0, delta), (a, 1 - a), (1 - delta, 1) and (1, 1) bounds that of every ROC curve. That rates matter where FPR is
small is the point of Carlini et al. (2022, "Membership inference attacks from first principles").

*One model.* Flags of one model share its noise, so an interval that takes rows for independent draws says nothing of
(1). This does (after Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training run", who take q = 1/2).
Let b_1, b_2, ... say who is a member, M be the model, k the number of flagged rows, a function of M and of the rows,
and W the members among them; and q' = exp(epsilon) q / (1 - q + exp(epsilon) q). Then for every v

    P(W >= v) <= min over i = 0, 1, ... of P(Bin(k, q') >= v - i) + N q (1 - q') delta / (i + 1)                    (2)

Proof. Given b_1 ... b_(i-1), the law of M is P_1 if b_i = 1 and P_0 if not, each a mixture over the rows after i of
laws that (epsilon, delta) compares pair by pair, and so comparable itself. With P = q P_1 + (1 - q) P_0 the chance p_i
that b_i = 1, given M and the rows before, is q P_1 / P, and p_i - q' = q (1 - q') (P_1 - exp(epsilon) P_0) / P, since
q' (1 - q) = (1 - q') exp(epsilon) q. So the mean over M of max(p_i - q', 0) is q (1 - q') times the integral of
max(P_1 - exp(epsilon) P_0, 0), which is at most delta. Draw U_i evenly from [0, 1] for each row, and let b_i be 1 where
U_i <= p_i, g_i where U_i <= q', x_i where q' < U_i <= p_i: b_i <= g_i + x_i. Given M the g_i are independent, so that
those of the flagged rows add up to Bin(k, q'); the x_i of N rows have a sum of mean N q (1 - q') delta at most, and by
Markov's inequality it is i + 1 or more with that over i + 1 at most. ∎ Rows that were looked at before, to choose
thresholds, stand first in the order, and what was chosen is known where the others are judged.

*q* is taken for the part of members among the rows. The flagged members are among those it is estimated by, which makes
(2) hold the more surely; ``test_randomised_response_is_hardly_ever_called_broken`` measures how often it fails against
the release that is as revealing as (1) allows.

Where one row is *replaced* by another, a guarantee compares two sets of members of one size that differ in one member.
For delta = 0, and a set of members of that size drawn evenly, the chances of W + 1 and of W members among the flagged
ones are then at most exp(epsilon) times as far apart as in a draw without replacement (each set with W + 1 is a swap
away from one with W), so that W is at most a noncentral hypergeometric variable of odds exp(epsilon). That is a sum of
independent indicators, its mean is at most k q', and by Hoeffding (1956) its tail beyond the mean is at most that of
Bin(k, q'): (2) with the observed q. For delta > 0 the second part of (2) is taken over as it stands.

Of a *unit*, read unit for row: one row of each unit is attacked.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

MOST_EPSILON = 50.0
"""Above this no number of rows contradicts an epsilon."""

PRECISION = 1e-4
"""Of an epsilon that is contradicted."""


def largest_curve(epsilon: float, delta: float = 0.0) -> tuple[tuple[float, float], ...]:
    """Return the points (FPR, TPR) between which the largest ROC curve of any attack is straight."""
    corner = (1 - delta) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return (0.0, delta), (corner, 1 - corner), (1 - delta, 1.0), (1.0, 1.0)


def largest_advantage(epsilon: float, delta: float = 0.0) -> float:
    """Compute the largest TPR - FPR of any attack.

    Examples:
        >>> round(largest_advantage(1.0), 4)
        0.4621
    """
    false, true = largest_curve(epsilon, delta)[1]
    return true - false


def largest_area(epsilon: float, delta: float = 0.0) -> float:
    """Compute the largest area under the ROC curve of any attack.

    Examples:
        >>> round(largest_area(1.0), 4)
        0.7311
    """
    points = largest_curve(epsilon, delta)
    return sum((end - start) * (low + high) / 2 for (start, low), (end, high) in pairwise(points))


def largest_rate(false_positives: float, epsilon: float, delta: float = 0.0) -> float:
    """Compute the largest true positive rate of any attack with a rate of false positives."""
    above = math.exp(min(epsilon, 700.0)) * false_positives + delta
    return max(min(above, 1 - math.exp(-epsilon) * (1 - false_positives - delta), 1.0), 0.0)


def surprise(members: int, flagged: int, rows: int, part: float, epsilon: float, delta: float = 0.0) -> float:
    """Bound the probability of as many members among the flagged rows, or more, by (2)."""
    from scipy.special import betainc

    odds = math.exp(min(epsilon, 700.0)) * part
    chance = odds / (1 - part + odds)
    aside = np.arange(members + 1 if delta else 1)
    left = members - aside
    tails = np.where(left > 0, betainc(np.maximum(left, 1), flagged - np.maximum(left, 1) + 1, chance), 1.0)
    return float(min((tails + rows * part * (1 - chance) * delta / (aside + 1)).min(), 1.0))


def contradicted(members: int, flagged: int, rows: int, part: float, limit: float, delta: float = 0.0) -> float:
    """Compute the epsilon below which every guarantee is contradicted: a lower confidence bound; 0 for none.

    ``surprise`` grows with epsilon, so halving finds where it reaches ``limit``. With the guarantee's own ``delta``.

    Args:
        limit: The ``surprise`` below which a guarantee is contradicted.
    """
    low, high = 0.0, MOST_EPSILON
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if surprise(members, flagged, rows, part, middle, delta) < limit else (low, middle)
    return low
