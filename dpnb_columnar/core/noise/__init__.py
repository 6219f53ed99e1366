"""Noise families and the sampler that draws from them."""

from dpnb_columnar.core.noise.approximate import ApproximateLaplace as ApproximateLaplace
from dpnb_columnar.core.noise.approximate import ClassicalGaussian as ClassicalGaussian
from dpnb_columnar.core.noise.approximate import ClassicalLaplace as ClassicalLaplace
from dpnb_columnar.core.noise.approximate import Gaussian as Gaussian
from dpnb_columnar.core.noise.family import NoiseFamily as NoiseFamily
from dpnb_columnar.core.noise.laplace import Laplace as Laplace
from dpnb_columnar.core.noise.polyplace import PolyPlace as PolyPlace
from dpnb_columnar.core.noise.sampler import ExactSampler as ExactSampler
from dpnb_columnar.core.noise.sampler import RandomBits as RandomBits
from dpnb_columnar.core.noise.sampler import ReportedSampler as ReportedSampler
from dpnb_columnar.core.noise.sampler import Sampler as Sampler
from dpnb_columnar.core.noise.sampler import SeededBits as SeededBits
from dpnb_columnar.core.noise.sampler import SystemBits as SystemBits
from dpnb_columnar.core.noise.sampler import draw as draw
from dpnb_columnar.core.noise.student import NissimCauchy as NissimCauchy
from dpnb_columnar.core.noise.student import PaperCauchy as PaperCauchy
from dpnb_columnar.core.noise.student import StudentT as StudentT
