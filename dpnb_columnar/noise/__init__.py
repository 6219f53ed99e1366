"""Noise families and the sampler that draws from them."""

from dpnb_columnar.noise.cauchy import PaperCauchy
from dpnb_columnar.noise.family import NoiseFamily
from dpnb_columnar.noise.laplace import Laplace
from dpnb_columnar.noise.polyplace import PolyPlace
from dpnb_columnar.noise.sampler import RandomBits, SeededBits, SystemBits, draw

__all__ = ["Laplace", "NoiseFamily", "PaperCauchy", "PolyPlace", "RandomBits", "SeededBits", "SystemBits", "draw"]
