"""SmartNoise SQL 1.0.10: its odometers."""

from finding import Library, formula

LIBRARY = Library("SmartNoise SQL", "1.0.10", ("smartnoise-sql==1.0.10",), "snsql")
FILE = "snsql/sql/odometer.py"


def spent(odometer, epsilon, delta, uses):
    """What an odometer says of so many uses of one privacy parameter."""
    from snsql import Privacy

    one = odometer(Privacy(epsilon=epsilon, delta=delta))
    for _ in range(uses):
        one.spend()
    return one.spent


def leaking(epsilon, delta, uses):
    """Uses of a mechanism that has exactly epsilon and delta: it tells its input with probability delta, else responds at random."""
    from math import exp

    from ldp_audit.accounting import compose
    from ldp_audit.mechanisms import FiniteChannel

    p = (1 - delta) * exp(epsilon) / (exp(epsilon) + 1)
    q = 1 - delta - p
    return compose([(FiniteChannel([[delta, 0.0, p, q], [0.0, delta, q, p]]), uses)])


@formula(
    title="Odometer",
    claim="200 uses of (0.1, 0.01) spend (5.6, 0.121)",
    place=f"{FILE}: Odometer.spent",
    delta=0.122,
    expected="too small",
    proof="The theorem that is cited (Kairouz, Oh and Viswanath, Theorem 3.4) has delta = 1 - (1 - delta)^k (1 - delta'). The code has d (1 - d) + delta' "
    "with d = 1 - (1 - delta)^k = 0.866: 0.121 instead of 0.867. A mechanism that tells its input with probability 0.01 tells it in 200 uses with "
    "probability 0.866, so that epsilon is infinite at delta 0.122 (claimed delta 0.121, right 0.867).",
    fix="delta = 1 - (1 - delta) ** k * (1 - tol); and the constant e in place of epsilon in the logarithm of optimal_a.",
    status="The reader of SmartNoise SQL uses OdometerHeterogeneous, which is right; Odometer is for those who call it themselves. The difference is about d^2: "
    "0.02% for delta 1e-6 and 200 uses. The example has a large delta to make it visible; from d = 1/2 on, the reported delta falls as uses are added. "
    "Another term of the same formula was reported in issue #621 and corrected in PR #624; this version has that correction "
    "(https://github.com/opendp/smartnoise-sdk/issues/621). 1.0.10 is the newest release.",
)
def odometer():
    from snsql.sql.odometer import Odometer

    epsilon, _ = spent(Odometer, 0.1, 0.01, 200)  # and delta 0.1211
    return epsilon, leaking(0.1, 0.01, 200)


@formula(
    title="OdometerHeterogeneous",
    claim="200 uses of (0.1, 1e-6) spend an epsilon at delta 2.005e-4",
    place=f"{FILE}: OdometerHeterogeneous.spent",
    delta=2.0048e-4,
    expected="above",
    proof="The same theorem, for different parameters, with delta as it is there.",
)
def heterogeneous():
    from snsql.sql.odometer import OdometerHeterogeneous

    epsilon, _ = spent(OdometerHeterogeneous, 0.1, 1e-6, 200)  # and delta 2.00479e-4
    return epsilon, leaking(0.1, 1e-6, 200)
