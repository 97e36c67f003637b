"""LDP-FL, Section 5: the consistency of its tables with its text."""

from sympy import Abs, Expr, Rational

from ldp_audit.claims.as_written import difference, put_in
from ldp_audit.claims.claim import Claim, Correction, Reading
from ldp_audit.claims.language.statement import at_most, equal, less, prints_as
from ldp_audit.papers.ldp_fl.claims.symbols import Variable, oo

TABLE_1 = {  # accuracy in percent: (fixed range, adaptive range)
    ("MNIST", 5): ("96.34", "96.06"),
    ("MNIST", 10): ("96.39", "96.11"),
    ("FMNIST", 5): ("85.95", "87.54"),
    ("FMNIST", 10): ("86.10", "87.57"),
    ("CIFAR", 5): ("13.54", "58.89"),
    ("CIFAR", 10): ("14.28", "60.37"),
}


def gain(data: str, epsilon: int) -> Expr:
    """Adaptive less fixed, in points."""
    fixed, adaptive = TABLE_1[data, epsilon]
    return difference(Rational(adaptive), Rational(fixed))


def cldp_budget() -> Claim:
    rho = Variable("rho", 0, oo, latex=r"\rho")
    alpha, clip = Variable("alpha", 0, oo, latex=r"\alpha"), Variable("c", 0, oo)
    return Claim(
        id="LF-CLDP",
        name="budget of condensed LDP",
        place="Section 5.2, on Truex et al.",
        says="Condensed LDP spends alpha 2 c 10^rho; with alpha = c = 1 and rho = 10 that is a large budget.",
        latex=r"\varepsilon=\alpha\cdot2c\cdot10^{\rho}=2\cdot10^{10}",
        parts=(
            equal(
                put_in(alpha * 2 * clip * 10**rho, {alpha: 1, clip: 1, rho: 10}),
                20_000_000_000,
                "the formula at alpha = c = 1, rho = 10 is 2 * 10^10",
            ),
        ),
    )


def adaptive_gain() -> Claim:
    return Claim(
        id="LF-TAB1",
        name="accuracy gain on CIFAR-10",
        place="Section 5.4, against Table 1",
        says="On CIFAR-10 with epsilon = 10 the adaptive range improves the accuracy by 45% over the fixed one.",
        latex=r"\varepsilon=10:\quad\mathrm{acc}(\text{adaptive})-\mathrm{acc}(\text{fixed})=45\%",
        parts=(prints_as(gain("CIFAR", 10), "45", "60.37 - 14.28 is 45 to the nearest point"),),
        another=Reading(
            "45 with the digits after it cut off.",
            (less(gain("CIFAR", 10), 46, "60.37 - 14.28 is below 46"),),
        ),
        corrected=Correction(
            "46.09 points at epsilon = 10; 45.35 points is the row of epsilon = 5.",
            r"\mathrm{acc}(\text{adaptive})-\mathrm{acc}(\text{fixed})=46.09\ \ (\varepsilon=10),\quad45.35\ \ (\varepsilon=5)",
            (
                equal(gain("CIFAR", 10), Rational("46.09"), "epsilon = 10"),
                equal(gain("CIFAR", 5), Rational("45.35"), "epsilon = 5"),
            ),
        ),
        looked="Section 5.4 and Table 1, in all three conversions, which have the same digits; Section 5.2 has 61.46% "
        "for the adaptive range, which would be 47 points. A slip of one row, it seems: nothing hangs on it.",
    )


def adaptive_gain_is_largest_on_cifar() -> Claim:
    others = [key for key in TABLE_1 if key[0] != "CIFAR"]
    return Claim(
        id="LF-TAB1c",
        name="accuracy gain by data set",
        place="Section 5.4, against Table 1",
        says="The adaptive range gains most on CIFAR-10; on MNIST there is no obvious difference (here: under half a point).",
        parts=(
            *(
                less(gain(data, eps), gain("CIFAR", eps), f"{data}, epsilon = {eps}: less than on CIFAR-10")
                for data, eps in others
            ),
            *(
                at_most(Abs(gain("MNIST", eps)), Rational(1, 2), f"MNIST, epsilon = {eps}: under half a point")
                for eps in (5, 10)
            ),
        ),
        experiments=("ldp-fl-table-1-mnist", "ldp-fl-table-1-fmnist"),
    )


def fixed_range_near_twenty() -> Claim:
    return Claim(
        id="LF-TAB1b",
        name="fixed-range accuracy on CIFAR-10",
        place="Section 5.4, text on Fig. 5(d), beside Table 1",
        says="With a fixed range the CIFAR-10 accuracy always stays around 20%.",
        corrected=Correction(
            "Table 1 has 13.54% and 14.28% for the fixed range (0, 1): 6.46 and 5.72 points less than 20%.",
            parts=tuple(
                equal(difference(20, Rational(TABLE_1["CIFAR", eps][0])), Rational(gap), f"Table 1, epsilon = {eps}")
                for eps, gap in ((5, "6.46"), (10, "5.72"))
            ),
        ),
        argument="How near 'around' is is not said, and the figure, which has other radii as well, cannot be read from the text.",
    )


def fmnist_settings() -> Claim:
    return Claim(
        id="LF-FMN",
        name="settings of the FMNIST runs",
        place="Abstract, Sections 5, 5.1 and 5.2",
        says="The settings of the FMNIST runs: epsilon is 4 in the abstract and Section 5.2, 5 in Section 5.1; the rounds are 15 in Section "
        "5.2, and an hour is said to do for 10 in Section 5.",
        argument="Different numbers for what may be different runs (Section 5.1 varies n, Section 5.2 compares with other works), so "
        "nothing is refuted. Which setting a figure has cannot be told from the text.",
    )


def accuracies() -> Claim:
    return Claim(
        id="LF-ACC",
        name="reported accuracies",
        place="Abstract, Fig. 3 to 5, Table 1",
        says="The accuracies: 96.24% (MNIST, epsilon = 1), 86.26% (FMNIST, 4), 61.46% (CIFAR-10, 10), and the figures' curves.",
        experiments=(
            "ldp-fl-mnist",
            "ldp-fl-fmnist",
            "ldp-fl-fmnist-wide",
            "ldp-fl-table-1-mnist",
            "ldp-fl-table-1-fmnist",
            "ldp-fl-fig-5a",
        ),
    )


CLAIMS = {
    "LF-CLDP": cldp_budget,
    "LF-TAB1": adaptive_gain,
    "LF-TAB1c": adaptive_gain_is_largest_on_cifar,
    "LF-TAB1b": fixed_range_near_twenty,
    "LF-FMN": fmnist_settings,
    "LF-ACC": accuracies,
}
