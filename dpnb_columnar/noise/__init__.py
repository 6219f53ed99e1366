"""Noise families and the sampler that draws from them."""

from dpnb_columnar.noise.cauchy import PaperCauchy
from dpnb_columnar.noise.family import NoiseFamily
from dpnb_columnar.noise.laplace import Laplace
from dpnb_columnar.noise.polyplace import PolyPlace
from dpnb_columnar.noise.sampler import ExactSampler, RandomBits, Sampler, SeededBits, SystemBits, draw

__all__ = [
    "ExactSampler",
    "Laplace",
    "NoiseFamily",
    "PaperCauchy",
    "PolyPlace",
    "RandomBits",
    "Sampler",
    "SeededBits",
    "SystemBits",
    "draw",
]
