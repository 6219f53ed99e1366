"""Worst-case privacy loss of every noise family, claimed and measured, and the width of the noise.

Usage: python -m benchmarks.noise [--epsilon 0.1,1] [--delta 1e-6] [--figure docs/noise.svg]

The loss is measured from the densities alone, over shifts of at most min(1, r) and ratios r of the scales from
exp(-beta) to exp(beta). Its unit is that of the family: epsilon, delta at the family's epsilon, or rho.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from pathlib import Path

import numpy as np

from dpnb_columnar.core.budget import Approximate, Concentrated, PrivacyCost, Pure, parse_delta, parse_epsilon
from dpnb_columnar.core.budget.costs import concentrated_within
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family, smooth_noise
from dpnb_columnar.core.noise import NoiseFamily
from dpnb_columnar.extensions.audit.exhaustive import claimed, measured
from dpnb_columnar.report.figures import Axis, Point, Series
from studies.figures import DISTINCT, NONE, Figure, Panel, Reference, figure_file, logarithmic, style

RATIOS, SHIFTS = 17, 9
WIDTH = 0.05


def worst_loss(noise: NoiseFamily) -> float:
    """Measure the largest loss over a grid of admissible changes, their extremes included."""
    ratio = np.exp(np.linspace(-1, 1, RATIOS) * float(noise.beta))
    part = np.linspace(0, 1, SHIFTS)
    shifts = part[None, :] * np.minimum(1, ratio)[:, None]
    return float(measured(noise, shifts.ravel(), np.repeat(ratio, SHIFTS)).max())


def loss_for(name: str, epsilon: Fraction, delta: Fraction) -> PrivacyCost:
    """Convert (epsilon, delta) to the unit in which a family states its losses."""
    kind = smooth_family(name).kind
    if kind is Pure:
        return Pure(epsilon)
    return Approximate(epsilon, delta) if kind is Approximate else concentrated_within(Approximate(epsilon, delta))


def rows_of(epsilons: Sequence[Fraction], delta: Fraction) -> list[tuple[str, Fraction, NoiseFamily, float]]:
    """Measure every family at every epsilon: family name, epsilon, calibrated noise and loss."""
    rows = []
    for name in NOISE_FAMILIES:
        for epsilon in epsilons:
            noise = smooth_noise(name, loss_for(name, epsilon, delta))
            rows.append((name, epsilon, noise, worst_loss(noise)))
    return rows


def main() -> None:
    """Print a table, and draw a figure if a file is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", default="0.01,0.1,0.3,1,3,10")
    parser.add_argument("--delta", default="1e-6")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    rows = rows_of([parse_epsilon(part) for part in options.epsilon.split(",")], parse_delta(options.delta))
    header = f"{'family':20}{'epsilon':>8}  {'stated as':13}{'claimed':>12}{'measured':>13}"
    print(header + f"{'ratio':>10}{'95 % of |Z|':>13}")
    for name, epsilon, noise, worst in rows:
        kind, claim = type(noise.cost).__name__.lower(), claimed(noise)
        print(
            f"{name:20}{float(epsilon):>8g}  {kind:13}{claim:>12.6g}{worst:>13.6g}{worst / claim:>10.6f}"
            f"{noise.quantile(WIDTH):>13.4g}"
        )
    if options.figure:
        draw(rows, options.figure)


def draw(rows: Sequence[tuple[str, Fraction, NoiseFamily, float]], file: Path) -> None:
    """Draw the measured loss as a part of the claim: one line per family."""
    x = logarithmic("epsilon", "epsilon of one release", [float(epsilon) for _, epsilon, _, _ in rows])
    y = Axis("ratio", "worst loss measured / claimed", limits=(0.0, 1.05))
    series: dict[type[PrivacyCost], list[Series]] = {Pure: [], Approximate: [], Concentrated: []}
    for name, look in zip(NOISE_FAMILIES, cycle(DISTINCT), strict=False):
        points = [Point(float(epsilon), worst / claimed(noise)) for own, epsilon, noise, worst in rows if own == name]
        series[smooth_family(name).kind].append(Series(name, replace(look, width=1.4), tuple(points)))
    panels = tuple(
        Panel(title, x, y, tuple(drawn), references=(Reference("claim", style(NONE), 1.0, "1"),))
        for title, drawn in zip(("ε", "(ε, δ)", "ρ"), series.values(), strict=True)
    )
    caption = "Families by what their loss is stated as; what keeps far from the claim adds more noise than it needs."
    drawn_figure = Figure("noise", "Worst privacy loss as a part of the claim", caption, "", panels)
    file.write_text(figure_file(drawn_figure), encoding="utf-8")


if __name__ == "__main__":
    main()
