"""LDP-FL's eq. (2) as a floating-point program: the largest epsilon at which its guarantee survives rounding.

No paper makes the claims that are refuted here: Theorem 1 is about real numbers. Users of the code rely on them.
`float_program.py` has the chain of roundings.
"""

from fractions import Fraction

from sympy import Expr, Integer, Rational, exp, log

from ldp_audit.claims.claim import Claim, Correction
from ldp_audit.claims.language.rounding import next_whole, rounded
from ldp_audit.claims.language.statement import Quantities, Statement, at_most, equal, less, prints_as
from ldp_audit.papers.ldp_fl.claims.float_program import DTYPES, FloatProgram, exactly, in_float32, probability

_MODEL = (
    "the uniform number is j 2^-b, j = 0 .. 2^b - 1 equally likely, b = 24 for float32 and 53 for float64",
    "every operation is rounded to nearest, ties to even; e^epsilon too, which not every library does for exp",
    "weights are clipped to [fl(c - r), fl(c + r)]",
)
_RADII = {
    "1": ("16.63553", "16.635532", "17.328678", "17.32868"),
    "0.075": ("16.453316", "16.453318", "17.328678", "17.32868"),
    "0.015": ("15.983987", "15.983988", "17.328678", "17.32868"),
}
"""For each radius: the float32 epsilon before the first infinite one, that one, the last finite one, the one after
it."""


def float32() -> Claim:
    programs = {radius: [_float32(text, radius) for text in row] for radius, row in _RADII.items()}
    worst = _float32("15.577747", "0.015")
    parts: list[Statement] = []
    for radius, row in _RADII.items():
        before, first, last, after = programs[radius]
        parts += [
            _finite(before, f"r = {radius}: finite at epsilon = {row[0]}"),
            _infinite(first, f"infinite at the next float32, {row[1]}"),
            _finite(last, f"finite again at {row[2]}"),
            _infinite(after, f"infinite at the next float32, {row[3]}"),
        ]
    first = programs["1"][1]
    safe = next_whole(first.words / (exp(first.epsilon) + 1))
    return Claim(
        id="FP-32",
        name="two-point report in float32",
        place="eq. (2) as a float32 program, w = c +- r, c = 0",
        says="Eq. (2), computed in float32 and compared with a float32 from torch.rand, is epsilon-LDP.",
        latex=r"2^{24}-N(c-r)\le e^{\varepsilon}\bigl(2^{24}-N(c+r)\bigr),\quad N(w)=\lceil 2^{24}\,p(w)\rceil",
        parts=tuple(
            _private(programs[radius][1], f"r = {radius}, epsilon = {_RADII[radius][1]}: Pr[-] at c - r and at c + r")
            for radius in _RADII
        ),
        corrected=Correction(
            "Among the float32 epsilons in [13, 17.5] the first with an infinite epsilon are 16.635532 (r = 1), 16.453318 "
            "(r = 0.075) and 15.983988 (r = 0.015), and 17.328678 is the last with a finite one; proved here are these "
            "neighbours. A whole threshold that rounds the rarer report's words up keeps epsilon (FP-SAFE).",
            parts=(
                *parts,
                prints_as(worst.implemented() - worst.epsilon, "1.058", "r = 0.015, 15.577747: finite, but 1.058 more"),
                at_most(first.words - safe, exp(first.epsilon) * safe, "the whole threshold at r = 1, 16.635532"),
            ),
        ),
        assumptions=_MODEL,
        argument="The lower report comes from w = c - r and never from w = c + r: whoever sees it knows that the weight "
        "was not at the upper end. That no earlier float32 is infinite and no later one finite is a scan of all four "
        "million in [13, 17.5], which a test repeats; it is not part of this proof. At r = 1 it also follows from FP-DTYPE.",
        source="derived",
    )


def centre() -> Claim:
    radius, one = in_float32("0.001"), Integer(1)
    before, first, ten = (FloatProgram(24, in_float32(text), radius, one) for text in ("10.661743", "10.661744", "10"))
    up = rounded(rounded(one + radius, 24) - one, 24) / radius
    return Claim(
        id="FP-CENTRE",
        name="off-centre range in float32",
        place="eq. (2) as a float32 program, c = 1, r = 0.001",
        says="The same with a center that is not 0, such as a normalisation layer's weight: c = 1 and r = 0.001.",
        parts=(_private(first, "epsilon = 10.661744: Pr[-] at fl(c - r) and at fl(c + r)"),),
        corrected=Correction(
            "Infinite from about 10.66 on, and before that too large: fl(c + r) - c is not r, so that the clipped weight "
            "lies outside the range by the factor rho = 1.0000467, for which eq. (2) itself has the infinite epsilon "
            "ln((rho + 1)/(rho - 1)) = 10.665 (LF-CLIP).",
            r"\rho=\frac{\mathrm{fl}(c+r)-c}{r},\qquad\varepsilon_{\max}=\ln\frac{\rho+1}{\rho-1}",
            (
                _finite(before, "finite at the float32 before it, 10.661743"),
                _infinite(first, "infinite at 10.661744"),
                prints_as(before.implemented() - before.epsilon, "5.974", "at 10.661743 it is 5.974 more than epsilon"),
                prints_as(ten.implemented() - 10, "0.725", "and at epsilon = 10 it is 0.725 more"),
                prints_as(up, "1.0000467", "rho"),
                prints_as(log((up + 1) / (up - 1)), "10.665", "where LF-CLIP's epsilon is infinite"),
            ),
        ),
        assumptions=_MODEL,
        source="derived",
    )


def float64() -> Claim:
    ends = (36.736800585096034, 36.73680058509604, 37.42994775023704, 37.42994775023705)
    before, first, last, after = (FloatProgram(53, exactly(str(Fraction(epsilon)))) for epsilon in ends)
    parts = (
        _finite(before, "finite at epsilon = 36.736800585096034"),
        _infinite(first, "infinite at the next float64, 36.73680058509604"),
        _finite(last, "finite again at 37.42994775023704"),
        _infinite(after, "infinite at the next float64, 37.42994775023705"),
    )
    twenty, thirty_six = (FloatProgram(53, exactly(epsilon)) for epsilon in ("20", "36"))
    return Claim(
        id="FP-53",
        name="two-point report in float64",
        place="eq. (2) as a float64 program, c = 0, r = 1",
        says="Eq. (2), computed in float64 and compared with a float64 uniform of 53 bits, is epsilon-LDP.",
        parts=(_private(first, "epsilon = 36.73680058509604: Pr[-] at c - r and at c + r"),),
        corrected=Correction(
            "Below ln(2^53 - 1/2) = 36.7368 epsilon is finite, and slightly too large: by 1.8e-8 at 20, by 0.044 at 36. "
            "From ln(2^54 - 1) = 37.4299 on it is infinite.",
            parts=(
                *parts,
                prints_as(twenty.implemented() - 20, "0.000000018", "at epsilon = 20"),
                prints_as(thirty_six.implemented() - 36, "0.044", "at epsilon = 36"),
            ),
        ),
        assumptions=_MODEL,
        argument="Which epsilons of all are finite: FP-DTYPE. 36.73680058509604 is the first infinite float64 that was found.",
        source="derived",
    )


def dtypes() -> Claim:
    starts, ends = ("5.5432", "7.6244", "16.6355", "36.7368"), ("6.2364", "8.3175", "17.3287", "37.4299")
    parts: list[Statement] = []
    for (name, bits), start, end in zip(DTYPES.items(), starts, ends, strict=True):
        words = Integer(2) ** bits
        first = log(words - Rational(1, 2))
        parts += [
            prints_as(first, start, f"{name}, {bits} bits: infinite epsilons begin at this epsilon,"),
            prints_as(log(2 * words - 1), end, "and end no more from this one on"),
            less(_at(words - 1, bits, 1), words, "t = 2^b - 1: the lower report comes from w = c + r too"),
            equal(_at(words, bits, 1), words, "t = 2^b: it does not"),
            less(_at(2 * words - 2, bits, 1), words, "t = 2^(b+1) - 2: it does again"),
            equal(_at(2 * words, bits, 1), words, "t = 2^(b+1): it does not"),
            less(0, words - _at(words, bits, -1), "while it comes from w = c - r"),
        ]
    return Claim(
        id="FP-DTYPE",
        name="first infinite epsilon by dtype",
        place="eq. (2) as a program in bfloat16, half, float32, float64; c = 0, r = 1",
        says="Computed operation by operation, epsilon is first infinite at ln(2^b - 1/2), and always from ln(2^(b+1) - 1) on: "
        "bfloat16 5.5432 and 6.2364, half 7.6244 and 8.3175, float32 16.6355 and 17.3287, float64 36.7368 and 37.4299.",
        latex=r"\varepsilon_{\text{first}}=\ln(2^b-\tfrac12),\qquad\varepsilon_{\text{always}}=\ln(2^{b+1}-1)",
        parts=tuple(parts),
        sizes="b = 8, 11, 24, 53; t = fl(e^epsilon) at both ends of both stretches; between them by the argument",
        assumptions=_MODEL,
        argument="fl(e^epsilon) is at least 2^b from e^epsilon = 2^b - 1/2 on, a tie that goes to the even 2^b; and at least "
        "2^(b+1) from 2^(b+1) - 1 on. p is 1 exactly where fl(t - 1) + fl(t + 1) rounds to 2 fl(t + 1). Below t = 2^b it falls "
        "short by more than half a unit of its last place; p is then at most 1 - 2^-b. From 2^b to 2^(b+1) t is even and t - 1, "
        "t + 1 are ties, which go to multiples of 4: both to t if t is one, and p = 1; else to t - 2 and t + 2, and p < 1. From "
        "2^(b+1) on both round to t. A correctly rounded p is 1 only from ln(2^(b+1) - 1) on (FP-LOW).",
        source="derived",
    )


def _float32(epsilon: str, radius: str) -> FloatProgram:
    return FloatProgram(24, in_float32(epsilon), in_float32(radius))


def _private(program: FloatProgram, label: str) -> Statement:
    """The lower report's ratio, which is infinite if the upper end never gives that report."""
    sides = Quantities("the number of words that lead to '-' from c - r", "e^epsilon times that from c + r")
    return at_most(program.lower_words(-1), exp(program.epsilon) * program.lower_words(1), label, sides=sides)


def _finite(program: FloatProgram, label: str) -> Statement:
    """Both ends give both reports."""
    return less(0, program.upper_words(-1) * program.lower_words(1), label)


def _infinite(program: FloatProgram, label: str) -> Statement:
    """No word leads from the upper end to the lower report; that some words do from the lower end is the refuted
    part."""
    return equal(program.lower_words(1), 0, label)


def _at(t: Expr, bits: int, side: int) -> Expr:
    """The number of words for the upper report if fl(e^epsilon) is t, c = 0, r = 1."""
    p = probability(t, Integer(0), Integer(1), side, lambda x: rounded(x, bits))
    return next_whole(p * 2**bits)


CLAIMS = {
    "FP-32": float32,
    "FP-CENTRE": centre,
    "FP-53": float64,
    "FP-DTYPE": dtypes,
}
