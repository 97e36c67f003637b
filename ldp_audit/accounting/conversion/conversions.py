"""All conversions between notions of privacy on one page.

Each returns a `Converted`, which says whether it is exact or from which side, and names its source.

    from               to                         function
    pure epsilon       (epsilon, delta)           pure_to_delta, pure_to_epsilon              exact
                       Renyi, zCDP, Gaussian      pure_to_renyi, pure_to_zcdp, pure_to_gdp    exact
                       zCDP                       pure_to_zcdp_by_square                      upper
    a privacy loss     Renyi, Gaussian            renyi_divergence, gdp_of                    exact, or upper: see there
                       zCDP                       zcdp_of                                     upper
    Gaussian noise     Renyi, zCDP                gaussian_renyi, gaussian_zcdp               exact
    Laplace noise      Renyi, zCDP                laplace_renyi, laplace_zcdp                 exact
    k-ary response     Renyi                      response_renyi                              exact
    Renyi              (epsilon, delta)           renyi_to_epsilon, renyi_to_delta            upper
    zCDP               (epsilon, delta)           zcdp_to_epsilon, zcdp_to_delta              upper
    Gaussian (mu)      (epsilon, delta)           gdp_to_epsilon, gdp_to_delta                exact
    a budget           the mu of Gaussian noise   gdp_within                                  exact

"Exact" for a class of mechanisms is what its worst member has.
"""

from ldp_audit.accounting.calibrate import gdp_within
from ldp_audit.accounting.conversion.gaussian_dp import gdp_of, gdp_to_delta, gdp_to_epsilon
from ldp_audit.accounting.conversion.pure_dp import (
    pure_to_delta,
    pure_to_epsilon,
    pure_to_gdp,
    pure_to_renyi,
    pure_to_zcdp,
    pure_to_zcdp_by_square,
)
from ldp_audit.accounting.conversion.renyi import (
    gaussian_renyi,
    gaussian_zcdp,
    laplace_renyi,
    laplace_zcdp,
    renyi_divergence,
    renyi_to_delta,
    renyi_to_epsilon,
    response_renyi,
    zcdp_of,
    zcdp_to_delta,
    zcdp_to_epsilon,
)
from ldp_audit.accounting.converted import Converted

__all__ = [
    "Converted",
    "gaussian_renyi",
    "gaussian_zcdp",
    "gdp_of",
    "gdp_to_delta",
    "gdp_to_epsilon",
    "gdp_within",
    "laplace_renyi",
    "laplace_zcdp",
    "pure_to_delta",
    "pure_to_epsilon",
    "pure_to_gdp",
    "pure_to_renyi",
    "pure_to_zcdp",
    "pure_to_zcdp_by_square",
    "renyi_divergence",
    "renyi_to_delta",
    "renyi_to_epsilon",
    "response_renyi",
    "zcdp_of",
    "zcdp_to_delta",
    "zcdp_to_epsilon",
]
