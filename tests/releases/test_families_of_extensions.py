"""Noise families of extensions: found by their names after those of our own, and named where they are absent."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace

import pytest

from dpnb_columnar import registry
from dpnb_columnar.core.budget import Concentrated, Pure
from dpnb_columnar.core.mechanisms.smooth_noise import smooth_family, smooth_noise
from dpnb_columnar.core.mechanisms.tuning import SmoothFamily, beta_of, smoothness
from dpnb_columnar.core.noise import PolyPlace, StudentT
from dpnb_columnar.errors import UnavailableError, UsageError

OTHER = SmoothFamily("other", Pure, lambda epsilon: epsilon / 9, lambda *loss: StudentT(*loss, Fraction(11, 2)))
EVERYWHERE = ("other", "polyplace", "student-3", "arsinh-normal")
"""Names under which an extension from outside offers its family: its own, and some of ours."""


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An extension from outside."""
    package = SimpleNamespace(FAMILIES={name: lambda: OTHER for name in EVERYWHERE})
    monkeypatch.setattr(registry, "_packages", lambda: (package,))
    registry.noise_family.cache_clear()
    yield
    registry.noise_family.cache_clear()


def test_a_family_from_outside_is_calibrated_with_its_beta() -> None:
    noise = smooth_noise("other", Pure(Fraction(1)))
    assert (noise.cost, noise.beta) == (Pure(Fraction(1)), Fraction(1, 9))
    assert smoothness("other", Pure(Fraction(1, 2))).beta == Fraction(1, 18)
    with pytest.raises(ValueError, match=r"^other noise is calibrated to a loss that is pure$"):
        smoothness("other", Concentrated(Fraction(1)))


def test_a_family_from_outside_never_replaces_one_of_ours() -> None:
    assert smooth_family("polyplace").calibrate is PolyPlace
    assert smooth_family("student-3").name == "student-3"
    assert beta_of("polyplace")[1](Fraction(1)) == Fraction(2, 5)
    assert beta_of("student-3")[1](Fraction(1)) == Fraction(1, 6)
    assert smooth_family("arsinh-normal").kind is beta_of("arsinh-normal")[0] is Concentrated


def test_an_unknown_family_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(UsageError, match=r"known families: polyplace, .*, arsinh-normal, other, and student-NU"):
        smooth_family("nosuch")


def test_a_family_of_ours_names_the_extension_that_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_package", lambda name: None)
    absent = r"^noise uniform-log-normal needs the extension concentrated, which is not installed; "
    for look_up in (smooth_family, beta_of):
        with pytest.raises(UnavailableError, match=absent):
            look_up("uniform-log-normal")
    assert registry.own_families() == ()
