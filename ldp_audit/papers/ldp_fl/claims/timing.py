"""LDP-FL, parameter shuffling by random delays: Algorithm 3, the heterogeneous waiting time, the choice of T."""

from collections import Counter
from fractions import Fraction
from itertools import product

from sympy import Add, Expr, Integer, Max, Mul, Pow, Rational, binomial

from ldp_audit.claims.as_written import times, total
from ldp_audit.claims.claim import Claim, Correction, Reading
from ldp_audit.claims.language.statement import at_most, equal, less, prints_as
from ldp_audit.papers.ldp_fl.claims.symbols import Variable, oo


def pairing_success(window: int, offset: int) -> Expr:
    """Probability that the best guess pairs the reports of one client, for two clients and two weights, from their
    times.

    Delays are uniform on {0, ..., window - 1}; the second client starts `offset` later. For each pair of observed times
    the cloud picks the likelier pairing: the sum of the larger masses, unevaluated.
    """
    seen: dict[object, list[Fraction]] = {}
    for first_1, first_2, second_1, second_2 in product(range(window), repeat=4):
        earlier_1, share_1 = _earlier(first_1, second_1 + offset)
        earlier_2, share_2 = _earlier(first_2, second_2 + offset)
        times = (*sorted((first_1, second_1 + offset)), *sorted((first_2, second_2 + offset)))
        masses = seen.setdefault(times, [Fraction(0), Fraction(0)])
        straight = earlier_1 * earlier_2 + (share_1 - earlier_1) * (share_2 - earlier_2)
        masses[0] += straight
        masses[1] += 1 - straight
    sizes = Counter(tuple(masses) for masses in seen.values())
    terms = [
        Mul(Integer(times), Max(*map(_rational, masses), evaluate=False), evaluate=False)
        for masses, times in sorted(sizes.items())
    ]
    return Mul(Rational(1, window**4), Add(*terms, evaluate=False), evaluate=False)


def _earlier(first: int, second: int) -> tuple[Fraction, Fraction]:
    """Probability that the report listed first is the first client's (ties are listed in either order)."""
    return (Fraction(1, 2) if first == second else Fraction(first < second)), Fraction(1)


def _rational(mass: Fraction) -> Expr:
    return Rational(mass.numerator, mass.denominator)


def delays_unlink() -> Claim:
    return Claim(
        id="LF-TIMElink",
        name="linkage by response times",
        place="Algorithm 3 and Section 3.1.2",
        says="With delays drawn from U(0, T) over the same period of time, the cloud cannot associate the reports of one client by "
        "their times.",
        parts=(
            equal(
                pairing_success(6, offset=0),
                Rational(1, 2),
                "two clients, two weights, six time slots: pairing succeeds in exactly half the cases, as by guessing",
            ),
        ),
        corrected=Correction(
            "A start offset is common to all of a client's reports and links them: in this model pairing succeeds with "
            "probability 1417/2592, 25/32 and 1 at an offset of 1, 3 and 6 slots.",
            parts=tuple(
                equal(pairing_success(6, offset), chance, f"offset {offset}")
                for offset, chance in ((1, Rational(1417, 2592)), (3, Rational(25, 32)), (6, Rational(1)))
            ),
        ),
        assumptions=(
            "all uploads fall into the same period, as Section 3.1.2 has it; its waiting time T_W is there to make it so",
            "each report travels on a fresh channel, and none is lost",
        ),
        sizes="two clients, two weights, six time slots",
    )


def exposed_by_an_offset() -> Claim:
    q = Variable("q", 0, 1)
    d = 10**4
    share = Rational(1, 1000)
    none, one = (Pow(1 - share, power, evaluate=False) for power in (d, d - 1))  # unevaluated: 30,000 digits each
    two_or_more = Add(1, Mul(-1, none, evaluate=False), Mul(-d * share, one, evaluate=False), evaluate=False)
    three = sum(binomial(3, j) * q**j * (1 - q) ** (3 - j) for j in (2, 3))
    return Claim(
        id="LF-TIMEcont",
        name="exposure by a start offset",
        place="Algorithm 3 (our quantification)",
        says="With a start offset D a report falls where only its client's can with probability q = D/T; the chance that two or "
        "more of d reports do is 1 - (1-q)^d - d q (1-q)^(d-1), which is 0.99950 at q = 1/1000, d = 10^4.",
        latex=r"1-(1-q)^d-dq(1-q)^{d-1},\quad q=D/T",
        parts=(
            equal(three, 1 - (1 - q) ** 3 - 3 * q * (1 - q) ** 2, "the formula at d = 3, from the binomial law"),
            prints_as(two_or_more, "0.99950", "q = 1/1000, d = 10000"),
        ),
        argument="The reports' delays are independent, so the number exposed is binomial; the complement has the terms j = 0, 1.",
        source="derived",
    )


def waiting_time() -> Claim:
    slowest = Variable("T_S", 0, oo, latex="T_S")
    computing = Variable("t_LC", 0, slowest, latex="t_{LC}")
    sending = Variable("t_C", 0, slowest - computing, latex="t_C")
    delay = Variable("tau", 0, oo, latex=r"\tau")
    waiting = slowest - computing - sending
    return Claim(
        id="LF-TIME",
        name="waiting time before the delay",
        place="Section 3.1.2, heterogeneous delays",
        says="Waiting T_W = T_S - t_LC - t_C before the random delay makes every response time T_S + tau, with T_W >= 0.",
        latex=r"t_{LC}+(T_W+\tau)+t_C=T_S+\tau,\qquad T_W\ge0",
        parts=(
            equal(total(computing, waiting, delay, sending), slowest + delay, "the response time"),
            at_most(0, waiting, "the waiting time is not negative, as T_S is the maximum of t_LC + t_C"),
        ),
        argument="Errors of the predicted times re-create an offset common to all of a client's reports: see LF-TIMElink.",
    )


def waiting_costs_nothing() -> Claim:
    slots = range(4)
    slowest, span = Variable("T_S", 0, oo, latex="T_S"), Variable("T", 0, oo, open="left")
    base, delay = Variable("t_b", 0, slowest, latex="t_{LC}+t_C"), Variable("tau", 0, span, latex=r"\tau")
    without = [Max(first, 4 + second, evaluate=False) for first in slots for second in slots]
    waiting = [total(4, Max(first, second, evaluate=False)) for first in slots for second in slots]
    mean_without, mean_waiting = (times(Rational(1, 16), total(*ends)) for ends in (without, waiting))
    return Claim(
        id="LF-TIMEneg",
        name="cost of the added waiting time",
        place="Section 3.1.2, heterogeneous delays",
        says="Adding T_W has no negative effect, as a round's delay is decided by its slowest client.",
        reading="Read of the longest delay, which the slowest client decides and T_S + T bounds: with T_W it is no longer than without.",
        parts=(
            at_most(total(base, slowest - base, delay), slowest + span, "with T_W: at most T_S + T, for every client"),
            at_most(base + delay, slowest + span, "without T_W: at most T_S + T"),
            equal(
                Max(*waiting, evaluate=False),
                Max(*without, evaluate=False),
                "attained by both, base times 0 and 4: the latest end of the round",
            ),
        ),
        another=Reading(
            "The words, strictly.",
            (
                at_most(
                    mean_waiting,
                    mean_without,
                    "base times 0 and 4, delays uniform on {0, 1, 2, 3}: the mean end of the round",
                ),
            ),
        ),
        corrected=Correction(
            "The longest delay T_S + T is unchanged; the mean end of a round is later: 49/8 instead of 11/2 in this example.",
            parts=(
                equal(mean_without, Rational(11, 2), "without T_W"),
                equal(mean_waiting, Rational(49, 8), "with T_W"),
            ),
        ),
        looked="Section 3.1.2, in all three conversions: the sentence gives the slowest client as its reason.",
    )


def small_t() -> Claim:
    span = Variable("T", 0, oo, open="left")
    offset = Variable("D", 0, span, open="left")
    return Claim(
        id="LF-T0",
        name="least period of random delays",
        place="Section 3.1.2, last paragraph",
        says="In theory T can be as small as clients and cloud can support; in practice it has a margin for offsets between clients.",
        parts=tuple(
            equal(
                pairing_success(window, offset=0),
                Rational(1, 2),
                f"no offset, {window} time slot{'s' if window > 1 else ''}: pairing succeeds in half the cases",
            )
            for window in range(1, 7)
        ),
        corrected=Correction(
            "The margin: a start offset D exposes the share D/T of a client's reports (LF-TIMEcont), so T must be large against d D "
            "for none of d reports to be exposed.",
            r"D/T",
            (less(0, offset / span, "any offset exposes some share, the larger the smaller T is"),),
        ),
        sizes="two clients, two weights, one to six time slots",
    )


def median_of_proposals() -> Claim:
    low = Variable("a", 0, oo)
    high = Variable("b", low, oo)
    lie = Variable("x", 2 * high - low, oo, open="left")
    between = Variable("x", low, high)
    return Claim(
        id="LF-MEDIAN",
        name="robustness of the median",
        place="Section 3.1.2, on how T is agreed",
        says="The median of the clients' proposals for T, unlike their average, resists a single dishonest client.",
        # The median of a, b, x with a <= b is a, x or b if x is below, between or above them.
        parts=(
            at_most(low, high, "x <= a or x >= b: the median is a or b, which lies from a to b"),
            at_most(low, between, "a <= x <= b: the median is x, not below them"),
            at_most(between, high, "and not above them"),
            less(high, (low + high + lie) / 3, "while a lie above 2 b - a draws their average above both"),
        ),
        corrected=Correction(
            "With two clients the median is the average, and does not resist.",
            parts=(less(high, (low + lie) / 2, "the median of a and x exceeds any b that one names"),),
        ),
        assumptions=("at least three clients; the paper has 100 to 500",),
        sizes="three clients; more by the same argument",
    )


CLAIMS = {
    "LF-TIMElink": delays_unlink,
    "LF-TIMEcont": exposed_by_an_offset,
    "LF-TIME": waiting_time,
    "LF-TIMEneg": waiting_costs_nothing,
    "LF-T0": small_t,
    "LF-MEDIAN": median_of_proposals,
}
