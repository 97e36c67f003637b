"""Mechanisms as exact distributions, each defined once, symbolically; samplers are tested against the definition."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers and editors; at run time names are imported on first use
    from ldp_audit.mechanisms.bound_channel import BoundChannel as BoundChannel
    from ldp_audit.mechanisms.channel import Ind as Ind
    from ldp_audit.mechanisms.channel import SymbolicChannel as SymbolicChannel
    from ldp_audit.mechanisms.density import OUTPUT as OUTPUT
    from ldp_audit.mechanisms.finite_channel import FiniteChannel as FiniteChannel
    from ldp_audit.mechanisms.frequency.fake_data import FakeData as FakeData
    from ldp_audit.mechanisms.frequency.hadamard_response import HadamardResponse as HadamardResponse
    from ldp_audit.mechanisms.frequency.histogram_encoding import HistogramEncoding as HistogramEncoding
    from ldp_audit.mechanisms.frequency.local_hashing import LocalHashing as LocalHashing
    from ldp_audit.mechanisms.frequency.memoised import Memoised as Memoised
    from ldp_audit.mechanisms.frequency.randomized_response import RandomizedResponse as RandomizedResponse
    from ldp_audit.mechanisms.frequency.sampled_attribute import SampledAttribute as SampledAttribute
    from ldp_audit.mechanisms.frequency.subset_selection import SubsetSelection as SubsetSelection
    from ldp_audit.mechanisms.frequency.tuple import Tuple as Tuple
    from ldp_audit.mechanisms.frequency.unary_encoding import UnaryEncoding as UnaryEncoding
    from ldp_audit.mechanisms.mechanism import Parameter as Parameter
    from ldp_audit.mechanisms.noise.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
    from ldp_audit.mechanisms.noise.discrete_laplace import DiscreteLaplace as DiscreteLaplace
    from ldp_audit.mechanisms.noise.gaussian import Gaussian as Gaussian
    from ldp_audit.mechanisms.noise.laplace import Laplace as Laplace
    from ldp_audit.mechanisms.noise.staircase_noise import StaircaseNoise as StaircaseNoise
    from ldp_audit.mechanisms.selection.exponential_mechanism import ExponentialMechanism as ExponentialMechanism
    from ldp_audit.mechanisms.selection.exponential_selection import ExponentialSelection as ExponentialSelection
    from ldp_audit.mechanisms.selection.noisy_maximum import NoisyMaximum as NoisyMaximum
    from ldp_audit.mechanisms.selection.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from ldp_audit.mechanisms.selection.perturbed_encoding import PerturbedEncoding as PerturbedEncoding
    from ldp_audit.mechanisms.selection.perturbed_sampling import PerturbedSampling as PerturbedSampling
    from ldp_audit.mechanisms.selection.sparse_vector import SparseVector as SparseVector
    from ldp_audit.mechanisms.selection.subsample_release import SubsampleRelease as SubsampleRelease
    from ldp_audit.mechanisms.selection.two_stage import TwoStage as TwoStage
    from ldp_audit.mechanisms.values.coordinate_sampling import CoordinateSampling as CoordinateSampling
    from ldp_audit.mechanisms.values.duchi_ball import DuchiBall as DuchiBall
    from ldp_audit.mechanisms.values.duchi_vector import DuchiVector as DuchiVector
    from ldp_audit.mechanisms.values.hybrid import Hybrid as Hybrid
    from ldp_audit.mechanisms.values.layer_range import ClientRange as ClientRange
    from ldp_audit.mechanisms.values.layer_range import LayerRange as LayerRange
    from ldp_audit.mechanisms.values.parameter_shuffler import ParameterShuffler as ParameterShuffler
    from ldp_audit.mechanisms.values.piecewise import Piecewise as Piecewise
    from ldp_audit.mechanisms.values.priv_unit import PrivUnit as PrivUnit
    from ldp_audit.mechanisms.values.random_projection import RandomProjection as RandomProjection
    from ldp_audit.mechanisms.values.square_wave import SquareWave as SquareWave
    from ldp_audit.mechanisms.values.two_point import TwoPoint as TwoPoint
    from ldp_audit.mechanisms.variable import EPSILON as EPSILON
    from ldp_audit.mechanisms.variable import ROOT_T as ROOT_T
    from ldp_audit.mechanisms.variable import T as T
    from ldp_audit.mechanisms.variable import Variable as Variable
    from ldp_audit.mechanisms.weights import SymbolicWeights as SymbolicWeights

FAMILIES = {
    "TwoPoint": "values.two_point",
    "RandomizedResponse": "frequency.randomized_response",
    "UnaryEncoding": "frequency.unary_encoding",
    "LocalHashing": "frequency.local_hashing",
    "SubsetSelection": "frequency.subset_selection",
    "HadamardResponse": "frequency.hadamard_response",
    "HistogramEncoding": "frequency.histogram_encoding",
    "Piecewise": "values.piecewise",
    "Hybrid": "values.hybrid",
    "SquareWave": "values.square_wave",
    "Laplace": "noise.laplace",
    "Gaussian": "noise.gaussian",
    "DiscreteLaplace": "noise.discrete_laplace",
    "DiscreteGaussian": "noise.discrete_gaussian",
    "StaircaseNoise": "noise.staircase_noise",
    "ExponentialSelection": "selection.exponential_selection",
    "PerturbedEncoding": "selection.perturbed_encoding",
    "PerturbedSampling": "selection.perturbed_sampling",
    "SubsampleRelease": "selection.subsample_release",
    "DuchiVector": "values.duchi_vector",
    "DuchiBall": "values.duchi_ball",
    "PrivUnit": "values.priv_unit",
    "ExponentialMechanism": "selection.exponential_mechanism",
    "PermuteAndFlip": "selection.permute_and_flip",
    "NoisyMaximum": "selection.noisy_maximum",
    "SparseVector": "selection.sparse_vector",
}
"""The registry of families with numerical parameters: tests, page, TARGETs, accounts and audits iterate over it."""

COMPOSED = {
    "CoordinateSampling": "values.coordinate_sampling",
    "TwoStage": "selection.two_stage",
    "RandomProjection": "values.random_projection",
    "Memoised": "frequency.memoised",
    "Tuple": "frequency.tuple",
    "SampledAttribute": "frequency.sampled_attribute",
    "FakeData": "frequency.fake_data",
    "FiniteChannel": "finite_channel",
}
"""The families that are built from other mechanisms or from a matrix."""

_HOME = {
    **FAMILIES,
    **COMPOSED,
    "BoundChannel": "bound_channel",
    "ClientRange": "values.layer_range",
    "EPSILON": "variable",
    "Ind": "channel",
    "LayerRange": "values.layer_range",
    "OUTPUT": "density",
    "Parameter": "mechanism",
    "ParameterShuffler": "values.parameter_shuffler",
    "ROOT_T": "variable",
    "SymbolicChannel": "channel",
    "SymbolicWeights": "weights",
    "T": "variable",
    "Variable": "variable",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"ldp_audit.mechanisms.{_HOME[name]}"), name)
    raise AttributeError(f"module 'ldp_audit.mechanisms' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
