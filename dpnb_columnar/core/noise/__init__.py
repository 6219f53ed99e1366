"""Noise families and the sampler that draws from them."""

from dpnb_columnar.core.noise.approximate import ApproximateLaplace, ClassicalGaussian, ClassicalLaplace, Gaussian
from dpnb_columnar.core.noise.family import NoiseFamily
from dpnb_columnar.core.noise.laplace import Laplace
from dpnb_columnar.core.noise.polyplace import PolyPlace
from dpnb_columnar.core.noise.sampler import (
    ExactSampler,
    RandomBits,
    ReportedSampler,
    Sampler,
    SeededBits,
    SystemBits,
    draw,
)
from dpnb_columnar.core.noise.student import NissimCauchy, PaperCauchy, StudentT

__all__ = [
    "ApproximateLaplace",
    "ClassicalGaussian",
    "ClassicalLaplace",
    "ExactSampler",
    "Gaussian",
    "Laplace",
    "NissimCauchy",
    "NoiseFamily",
    "PaperCauchy",
    "PolyPlace",
    "RandomBits",
    "ReportedSampler",
    "Sampler",
    "SeededBits",
    "StudentT",
    "SystemBits",
    "draw",
]
