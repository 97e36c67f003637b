"""FedSel's competitors, Sections 3.1 and 5.3: random coordinates (flat), random projection (compressed), Duchi, HM and PM."""

from functools import cache
from itertools import combinations

from sympy import Rational

from ldp_audit.claims.as_written import difference, put_in, quotient, times, total
from ldp_audit.claims.claim import Claim, Correction, Reading
from ldp_audit.claims.language.statement import at_most, equal, less, order
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.noise.gaussian import GAUSSIAN
from ldp_audit.papers.fedsel.claims.symbols import A, K, Variable, duchi, oo, s, t, x
from ldp_audit.papers.wang import claims as wang

kept = Variable("c", 1, oo, integer=True)
dims = Variable("d", kept, oo, integer=True)
noise = Variable("V", 0, oo)


@cache
def coordinate() -> SymbolicChannel:
    atoms = [*((dims / kept * y.output, kept / dims * y.probability) for y in duchi.atoms), (0, 1 - kept / dims)]
    return SymbolicChannel("one coordinate of the flat solution, Duchi's mechanism", x, atoms)


def flat_sampling() -> Claim:
    parts = []
    for size, chosen in ((2, 1), (3, 2), (4, 2)):
        drawn = list(combinations(range(size), chosen))
        share = quotient(total(*(int(0 in subset) for subset in drawn)), len(drawn))
        parts.append(
            equal(share, Rational(chosen, size), f"d = {size}, c = {chosen}: a dimension's share of all subsets")
        )
    return Claim(
        id="FS-FLAT",
        name="flat solution's mean and noise",
        place="Section 3.1, on the flat solution",
        says="c of d dimensions drawn at random, their perturbed values enlarged by d/c, give an unbiased estimate, with "
        "enlarged noise (here: Duchi's mechanism).",
        latex=r"\mathbb E[y_j]=x_j,\qquad\mathrm{Var}[y_j]=\tfrac dc\,\mathbb E[\zeta^2]-x_j^2",
        parts=(
            equal(coordinate().mean(), x, "no bias, from the law: drawn with probability c/d, times d/c, else 0"),
            at_most(A**2 - x**2, coordinate().variance(), "the variance is at least the value mechanism's own"),
            *parts,
        ),
        corrected=Correction(
            "The variance is (d/c) E[zeta^2] - x^2, at the budget of one of c reports.",
            parts=(
                equal(coordinate().variance(), dims / kept * A**2 - x**2, "from the law; E[zeta^2] = A^2"),
                equal(
                    difference(times(kept / dims, (dims / kept) ** 2, noise + x**2), x**2),
                    dims / kept * (noise + x**2) - x**2,
                    "any value mechanism of variance V, E[zeta^2] = V + x^2",
                ),
            ),
        ),
        assumptions=("the value perturbation is unbiased, its inputs lie in its range",),
    )


def projection_recovers() -> Claim:
    rank = Variable("q", 1, oo, integer=True)
    turn = Variable("a", -oo, oo)
    g_1, g_2 = Variable("g_1", -oo, oo), Variable("g_2", -oo, oo)
    cos, sin = (1 - turn**2) / (1 + turn**2), 2 * turn / (1 + turn**2)
    along = cos * g_1 + sin * g_2
    across = -sin * g_1 + cos * g_2
    recovered = [along * cos, along * sin]
    turned = [across * -sin, across * cos]
    error = (g_1 - recovered[0]) ** 2 + (g_2 - recovered[1]) ** 2
    error_turned = (g_1 - turned[0]) ** 2 + (g_2 - turned[1]) ** 2
    size = Variable("d", rank, oo, integer=True)
    return Claim(
        id="FS-RP",
        name="recovery from a projection",
        place="Section 3.1, on the compressed solution",
        says="The projected vector is approximately recovered by the pseudo-inverse.",
        latex=r"\mathbb E\,|\hat g-g|^2=\bigl(1-\tfrac qd\bigr)|g|^2",
        corrected=Correction(
            "Recovery is a projection on q random directions: E[recovered] = (q/d) g and the mean squared error is (1 - q/d) "
            "|g|^2, before any noise. At Section 5.3's q = d/10 nine tenths of |g|^2 are lost.",
            r"\mathbb E[\hat g]=\tfrac qd\,g,\qquad\mathbb E\,|\hat g-g|^2=\bigl(1-\tfrac qd\bigr)|g|^2",
            (
                equal(
                    (recovered[0] + turned[0]) / 2, g_1 / 2, "d = 2, q = 1: a direction and its quarter turn, averaged"
                ),
                equal((recovered[1] + turned[1]) / 2, g_2 / 2, "likewise the second coordinate: (q/d) g"),
                equal((error + error_turned) / 2, (g_1**2 + g_2**2) / 2, "and the squared error: (1 - q/d) |g|^2"),
                equal(put_in(1 - rank / size, {rank: 10, size: 100}), Rational(9, 10), "d = 100, q = d/10 = 10"),
            ),
        ),
        rests_on=(
            "a Gaussian matrix is rotation-invariant, so the mean of the projection commutes with every rotation",
        ),
        argument="How near 'approximately' is is not said, and Sections 1 and 5.3 themselves blame a large recovery error. A projection P "
        "of rank q has the trace q and its mean is a multiple of 1, so E[P] = q/d; |g - P g|^2 = g.g - g.P g. Projected values are "
        "unbounded: they must be clipped as well.",
    )


def projection_is_isometric() -> Claim:
    rank = Variable("q", 1, oo, integer=True)
    centred = GAUSSIAN.at({Variable("x", -oo, oo): 0})
    width = Variable("sigma", 0, oo, open="left", latex=r"\sigma")
    two, four = centred.moment(2), centred.moment(4)
    mean, spread = rank * two, rank * (four - two**2)
    return Claim(
        id="FS-RPiso",
        name="lengths under random projection",
        place="Section 3.1, on the compressed solution ('even if ...')",
        says="Even if the Gaussian projection keeps lengths, it ignores which dimensions are large. (A concession to it.)",
        latex=r"|\Phi^{\mathsf T}g|^2\approx|g|^2",
        corrected=Correction(
            "|Phi^T g|^2/|g|^2 is chi-square with q degrees of freedom over q: mean 1 and variance 2/q. Lengths are kept on "
            "average, and nearly so for large q.",
            r"\frac{|\Phi^{\mathsf T}g|^2}{|g|^2}\sim\frac{\chi^2_q}{q}",
            (
                equal(put_in(mean / rank, {width: 1}), 1, "mean 1: entries of variance 1, divided by q"),
                equal(put_in(spread / rank**2, {width: 1}), 2 / rank, "variance 2/q"),
            ),
        ),
        assumptions=("entries of Phi are normal with mean 0 and variance 1/q",),
        argument="What is conceded is no claim of the paper's. The isometry of random projections holds with high probability, not "
        "for sure.",
    )


def same_error_bound() -> Claim:
    duchi_worst, piecewise_worst = A.subs(t, s**2) ** 2, wang.piecewise_worst()
    small = Variable("s", 1, Rational("1.65"), open="left")
    hybrid_small = Variable("s", wang.ABOVE_STAR, Rational("1.65"))
    later = Variable("s", 2, oo)
    pairs = (
        ("Duchi's worst variance against PM's", duchi_worst, piecewise_worst),
        ("PM's against Duchi's", piecewise_worst, duchi_worst),
    )
    return Claim(
        id="FS-VAL",
        name="error bounds of value mechanisms",
        place="Section 5.3",
        says="Duchi's mechanism and HM have the same optimal error bound as PM (worst-case variances of the same order).",
        latex=r"\max_x\mathrm{Var}_{Duchi}=\Theta(\max_x\mathrm{Var}_{PM})",
        reading="The bounds are asymptotic, for small epsilon: here epsilon <= 1, that is s = e^(epsilon/2) <= 1.65.",
        parts=(
            *(
                order(left.subs(s, small), K * right.subs(s, small), constant=K, label=f"epsilon <= 1: {name}")
                for name, left, right in pairs
            ),
            at_most(
                wang.hybrid_variance().subs(s, hybrid_small),
                duchi_worst.subs(s, hybrid_small),
                "HM is at most Duchi's",
            ),
            at_most(
                piecewise_worst.subs(s, hybrid_small) / 2,
                wang.hybrid_variance().subs(s, hybrid_small),
                "and at least half of PM's",
            ),
        ),
        another=Reading(
            "The words, strictly.",
            tuple(order(left, K * right, constant=K, label=f"every epsilon: {name}") for name, left, right in pairs),
        ),
        corrected=Correction(
            "For epsilon to 0 the worst variances go like 4/epsilon^2 (Duchi, HM) and 16/(3 epsilon^2) (PM); for large epsilon "
            "like 1 (Duchi) and 4/(3s) (PM), so that no constant does for every epsilon.",
            parts=(
                equal(piecewise_worst / duchi_worst, 4 * s * (s + 1) ** 2 / (3 * (s**2 + 1) ** 2), "their quotient"),
                equal(
                    put_in(4 * s * (s + 1) ** 2 / (3 * (s**2 + 1) ** 2), {s: 1}),
                    Rational(4, 3),
                    "which is 4/3 at s = 1",
                ),
                less(1, duchi_worst, "Duchi's stays above 1"),
                at_most(piecewise_worst.subs(s, later), 16 / (3 * later), "PM's falls like 1/s, s >= 2"),
            ),
        ),
        looked="Section 5.3, with Sections 2.2 and 4.2: no range of epsilon is named.",
        argument="HM is Duchi's mechanism below epsilon* = 0.6094 (s* = 1.35618...) and mixes in PM with 1 - 1/s above.",
    )


CLAIMS = {
    "FS-FLAT": flat_sampling,
    "FS-RP": projection_recovers,
    "FS-RPiso": projection_is_isometric,
    "FS-VAL": same_error_bound,
}
