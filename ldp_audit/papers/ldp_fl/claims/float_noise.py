"""Alternatives to eq. (2) as floating-point programs: the Laplace, piecewise and Gaussian samplers.

Each claim states what a proof about real numbers suggests: every report of one input is possible for another. Each is
refuted by one report that input 0 gives for a named word and input 1 for none. If the program is monotone in its word
(a chain of monotone operations, each with monotone rounding), a proof over boxes of words shows that no word leads
there. The Laplace claims include the probability of such reports, which is a lower bound on delta at every epsilon: in
float32 all words are evaluated (`alone.py`); in float64 it is bounded by counts. For the other samplers
`ldp_audit.implementation` measures it.

The flaw was found by Mironov, "On Significance of the Least Significant Bits for Differential Privacy" (CCS 2012).
"""

from typing import Any

from sympy import Expr, Integer, Max, Min, Rational, exp, log, sqrt

from ldp_audit.claims.claim import Claim, Correction
from ldp_audit.claims.language.alone import words_alone
from ldp_audit.claims.language.rounding import next_whole, rounded
from ldp_audit.claims.language.statement import Statement, at_most, equal, less, somewhere
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.papers.ldp_fl.claims.float_program import DTYPES

_FAR = Integer(2) ** 30
"""Larger than all noise of these samplers."""


def laplace() -> Claim:
    bits, alone = DTYPES["float32"], 13_433_389
    return _laplace(
        "FP-LAPLACE",
        "float32",
        share="0.8",
        mass=(
            at_most(
                words_alone(bits, 0, 1),
                Rational("0.8") * 2**bits,
                "at most 0.8 of all words lead x = 0 to reports that no word leads x = 1 to",
            ),
        ),
        corrected=f"{alone} of the 2^24 words, a share of 0.8007, lead x = 0 to reports that x = 1 never makes: no epsilon holds "
        "below that delta.",
        latex=rf"\delta(\varepsilon)\ge\tfrac{{{alone}}}{{2^{{24}}}}>0.8\quad\text{{for every }}\varepsilon",
        shown=(equal(words_alone(bits, 0, 1), alone, "so many words, by trying all"),),
        argument="Of the reports that a word j > 0 leads x = 0 to and none leads x = 1 to, all words are counted, each of probability "
        "2^-24 or, where j = 0 is drawn again, more. A library whose logarithm is not rounded to nearest has another count: with "
        "numpy's the share is 0.791 (`ldp_audit.implementation`).",
    )


def laplace_53() -> Claim:
    bits = DTYPES["float64"]
    below, above = Rational(5707, 8192), Rational(2485, 8192)
    v = Variable("v", Rational(1, 2**52), 1)
    return _laplace(
        "FP-LAPLACE53",
        "float64",
        share="0.39",
        mass=(
            at_most(
                below - above,
                Rational("0.39"),
                "the words that lead to reports below 1/2 are at most 0.39 of all more at x = 0 than at x = 1",
            ),
        ),
        corrected="At least 0.3933 of the 2^53 words lead x = 0 to reports that x = 1 never makes: no epsilon holds below that "
        "delta.",
        latex=r"\delta(\varepsilon)\ge\tfrac{5707-2485}{8192}>0.39\quad\text{for every }\varepsilon",
        shown=(
            less(
                laplace_report(0, below * 2**bits, bits),
                Rational(1, 2),
                "x = 0 reports less than 1/2 up to u = 5707/8192",
            ),
            at_most(Rational(1, 2), laplace_report(1, above * 2**bits, bits), "x = 1 does not from u = 2485/8192 on"),
            less(-v * log(v), Rational(2, 5), "m ln(M/m) < 2/5 M, so no two words lead x = 0 to one report"),
        ),
        argument="Reports rise with j. The logarithms of m and m + 1 of M = 2^52 are more than 1/(m + 1) apart, which is more than the "
        "gap of the floats there, 2^-52 ln(M/m) at most, as (m + 1) ln(M/m) < M; so x = 0 makes 5707/8192 2^53 different reports below "
        "1/2. Of them x = 1 makes at most one a word, with fewer than 2485/8192 2^53 words. That is a count without any logarithm's "
        "last bits; random words show a share of 0.7966 or more, with an error of 1e-6 (`ldp_audit.implementation`).",
    )


def _laplace(
    key: str,
    dtype: str,
    *,
    share: str,
    mass: tuple[Statement, ...],
    corrected: str,
    latex: str,
    shown: tuple[Statement, ...],
    argument: str,
) -> Claim:
    """The claim that a delta below this share suffices, refuted by one report and by its mass; `shown`: of the
    corrected one."""
    bits = DTYPES[dtype]
    word = Variable("j", 1, 2**bits - 1, integer=True)
    report = laplace_report(0, Rational(3, 8) * 2**bits, bits)
    return Claim(
        id=key,
        name=f"Laplace noise in {dtype}",
        place=f"textbook Laplace noise of scale 1, in {dtype}",
        says=f"x + Laplace noise by the inverse distribution function, computed in {dtype}, is epsilon-DP for some epsilon, every "
        "report of x = 0 being a report of x = 1 too; or it is at least (epsilon, delta)-DP for some epsilon and a delta below "
        f"{share}.",
        latex=r"y=\mathrm{fl}(x\pm\mathrm{fl}(\ln(1-2|u-\tfrac12|))),\quad u=j\,2^{-b}",
        parts=(
            somewhere(
                equal(laplace_report(1, word, bits), report),
                "some word j > 0 leads from x = 1 to 0's report for u = 3/8",
            ),
            *mass,
        ),
        corrected=Correction(
            f"{corrected} For the two-point mechanism a whole threshold keeps epsilon (FP-SAFE); Laplace noise can be drawn from the "
            "whole multiples of a step, by a sampler for the discrete Laplace law.",
            rf"y_0=\mathrm{{fl}}(\ln\tfrac34):\quad\Pr[M(0)=y_0]\ge2^{{-b}},\quad\Pr[M(1)=y_0]=0;\qquad {latex}",
            (equal(report, rounded(log(Rational(3, 4)), bits), "x = 0 reports fl(ln 3/4) for u = 3/8"), *shown),
        ),
        assumptions=(
            f"u = j 2^-{bits}; at j = 0 the program returns minus infinity, or draws again",
            "every operation, ln too, is rounded to nearest",
        ),
        argument="1 - 2 |u - 1/2| is exact, so one logarithm is rounded and one sum; below u = 1/2 the other logarithm of the "
        "formal statement is ln 1 = 0, above it the first one. The report of x = 1 never falls as j grows; on either side of the "
        f"report boxes keep away from it, and between the last word below and the first above there is none. {argument}",
        rests_on=(
            "Mironov, On Significance of the Least Significant Bits for Differential Privacy (CCS 2012), for the flaw",
        ),
        source="derived",
    )


def laplace_report(x: int, word: Any, bits: int) -> Expr:
    """The program's report: x plus fl(ln 2u) below u = 1/2, x minus fl(ln(2 - 2u)) from there on."""
    u = word / Integer(2) ** bits
    below, above = (rounded(log(Min(1, side, evaluate=False)), bits) for side in (2 * u, 2 - 2 * u))
    return rounded(x + below - above, bits)


def piecewise() -> Claim:
    bits = DTYPES["float32"]
    zero, one = PiecewiseProgram(0, bits), PiecewiseProgram(1, bits)
    report = zero.inner(Rational(15, 16))
    word = Variable("j", 0, 2**bits - 1, integer=True)
    left = Variable("a", 0, one.turn)
    right = Variable("a", one.turn, one.outside)
    return Claim(
        id="FP-PM",
        name="piecewise mechanism in float32",
        place="the piecewise mechanism of Wang et al. in float32, epsilon = 1/2",
        says="The piecewise mechanism, computed in float32, is epsilon-LDP for some epsilon: what x = 0 reports from its inner "
        "interval, x = 1 reports from its own or from outside it.",
        latex=r"y=\mathrm{fl}(l+\mathrm{fl}(u\,\mathrm{fl}(r-l))),\quad u=j\,2^{-24}",
        parts=(
            somewhere(
                equal(one.inner(word / Integer(2) ** bits), report),
                "some word leads from x = 1, inside its inner interval, to 0's report for u = 15/16",
            ),
        ),
        corrected=Correction(
            "No epsilon holds for the program: from outside its inner interval x = 1 does not report it either.",
            parts=(
                less(1, report, "0's report lies above 1,"),
                less(report, Rational(31, 10), "and below 3.1"),
                less(rounded(left - one.reach, bits), report, "the part below the inner interval ends before it"),
                less(
                    report,
                    rounded(one.right + rounded(right - one.turn, bits), bits),
                    "the part above begins beyond it",
                ),
            ),
        ),
        assumptions=("u = j 2^-24", "every operation, exp too, is rounded to nearest"),
        argument="l + u (r - l) lies on a lattice that begins at l and so moves with x. Outside, the program places a number a from "
        "[0, C + 1] below l if a < l + C, else above r.",
        source="derived",
    )


class PiecewiseProgram:
    """The program's constants and inner reports at one input, epsilon = 1/2, each operation rounded.

    reach: C.   left, right: l, r.   outside: C + 1.   turn: l + C, where the outer part passes from below l to above r.
    """

    def __init__(self, x: int, bits: int) -> None:
        self.bits = bits
        s = rounded(exp(Rational(1, 4)), bits)
        self.reach = rounded(rounded(s + 1, bits) / rounded(s - 1, bits), bits)
        self.outside = rounded(self.reach + 1, bits)
        slope, shift = rounded(self.outside / 2, bits), rounded(rounded(self.reach - 1, bits) / 2, bits)
        self.left = rounded(rounded(slope * x, bits) - shift, bits)
        self.turn = rounded(self.left + self.reach, bits)
        self.right = rounded(self.turn - 1, bits)

    def inner(self, u: Expr) -> Expr:
        """The report for the uniform u inside the inner interval."""
        return rounded(self.left + rounded(u * rounded(self.right - self.left, self.bits), self.bits), self.bits)


def gaussian() -> Claim:
    bits = DTYPES["float32"]
    log_term = rounded(-2 * rounded(log(1 - Rational(1, 32)), bits), bits)
    report = rounded(sqrt(log_term), bits)
    k = Variable("k", -3 * 2 ** (bits - 1), -(2 ** (bits - 1)), integer=True)
    low, high = Variable("z", -_FAR, -Rational(3, 2)), Variable("z", -Rational(1, 2), _FAR)
    return Claim(
        id="FP-GAUSS",
        name="Gaussian noise in float32",
        place="x + noise in float32, by Box and Muller's method or any other",
        says="As in real numbers, whatever x = 0 reports x = 1 can report too, with another noise.",
        latex=r"y=\mathrm{fl}(x+z),\quad z=\mathrm{fl}(\sqrt{\mathrm{fl}(-2\,\mathrm{fl}(\ln(1-u)))}),\ v=0",
        parts=(
            somewhere(
                equal(rounded(1 + k / Integer(2) ** bits, bits), report),
                "some noise between -3/2 and -1/2 leads from x = 1 to 0's report for u = 1/32, v = 0",
            ),
        ),
        corrected=Correction(
            "x = 1 reports nothing between -1/2 and 1/2 but whole multiples of 2^-24, whatever its noise, so any other report "
            "there tells x = 0 from x = 1. An analysis in real numbers, such as the Gaussian mechanism's (epsilon, delta), has no "
            "such reports.",
            parts=(
                less(
                    report * 2**bits, next_whole(report * 2**bits), "0's report, 0.25198689..., is no multiple of 2^-24"
                ),
                less(Max(report, -report, evaluate=False), Rational(1, 2), "it lies between -1/2 and 1/2"),
                less(rounded(1 + rounded(low, bits), bits), report, "noise up to -3/2 leads to less"),
                less(report, rounded(1 + rounded(high, bits), bits), "noise from -1/2 on leads to more"),
            ),
        ),
        assumptions=(
            "u, v are whole multiples of 2^-24, so u = 1/32 with v = 0, where the cosine is 1, has probability 2^-48",
            "every operation, ln and the root too, is rounded to nearest",
        ),
        argument="Floats of 24 bits between -3/2 and -1/2 are whole multiples k 2^-24, and so is 1 plus one of them, which is a float "
        "itself: nothing is rounded.",
        source="derived",
    )


CLAIMS = {
    "FP-LAPLACE": laplace,
    "FP-LAPLACE53": laplace_53,
    "FP-PM": piecewise,
    "FP-GAUSS": gaussian,
}
