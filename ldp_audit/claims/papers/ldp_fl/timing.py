"""LDP-FL, parameter shuffling by random delays: Algorithm 3, the heterogeneous waiting time, the choice of T."""

from collections import Counter
from fractions import Fraction
from itertools import product

from sympy import Add, Expr, Integer, Max, Mul, Pow, Rational, binomial

from ldp_audit.claims.claim import Claim, Condition, Correction
from ldp_audit.claims.papers.ldp_fl.symbols import Variable, oo
from ldp_audit.claims.statement import at_most, equal, prints_as


def pairing_success(window: int, offset: int) -> Expr:
    """How often the best guess pairs the reports of one client, two clients and two weights, by their times alone.

    Delays are uniform on {0, ..., window - 1}; the second client starts `offset` later. For each pair of observed times
    the cloud picks the likelier pairing: the sum of the larger masses, left as a sum for a reader to add up.
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
    """The chance that the report listed first is the first client's (a tie is listed either way), out of 1."""
    return (Fraction(1, 2) if first == second else Fraction(first < second)), Fraction(1)


def _rational(mass: Fraction) -> Expr:
    return Rational(mass.numerator, mass.denominator)


def delays_unlink() -> Claim:
    return Claim(
        id="LF-TIMElink",
        place="Algorithm 3 and Section 3.1.2",
        says="With delays drawn from U(0, T) the cloud cannot associate the reports of one client by their times.",
        parts=(
            at_most(
                pairing_success(6, offset=1),
                Rational(1, 2),
                "two clients, two weights, six time slots, the second client one slot late: pairing succeeds in half the cases",
            ),
        ),
        condition=Condition(
            "All clients start together, each report travels on a fresh channel, and none is lost.",
            (equal(pairing_success(6, offset=0), Rational(1, 2), "equal starts: exactly one half, as by guessing"),),
        ),
        corrected=Correction(
            "A start offset is common to all of a client's reports and links them: in this model pairing succeeds with "
            "probability 1417/2592, 25/32 and 1 at an offset of 1, 3 and 6 slots.",
            parts=tuple(
                equal(pairing_success(6, offset), chance, f"offset {offset}")
                for offset, chance in ((1, Rational(1417, 2592)), (3, Rational(25, 32)), (6, Rational(1)))
            ),
        ),
        sizes="two clients, two weights, six time slots",
    )


def exposed_by_an_offset() -> Claim:
    q = Variable("q", 0, 1)
    d = 10**4
    share = Rational(1, 1000)
    none, one = (Pow(1 - share, power, evaluate=False) for power in (d, d - 1))  # left as powers: 30,000 digits each
    two_or_more = Add(1, Mul(-1, none, evaluate=False), Mul(-d * share, one, evaluate=False), evaluate=False)
    three = sum(binomial(3, j) * q**j * (1 - q) ** (3 - j) for j in (2, 3))
    return Claim(
        id="LF-TIMEcont",
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
        place="Section 3.1.2, heterogeneous delays",
        says="Waiting T_W = T_S - t_LC - t_C before the random delay makes every response time T_S + tau, with T_W >= 0.",
        latex=r"t_{LC}+(T_W+\tau)+t_C=T_S+\tau,\qquad T_W\ge0",
        parts=(
            equal(computing + (waiting + delay) + sending, slowest + delay, "the response time"),
            at_most(0, waiting, "the waiting time is not negative, as T_S is the maximum of t_LC + t_C"),
        ),
        argument="Errors of the predicted times re-create an offset common to all of a client's reports: see LF-TIMElink.",
    )


def waiting_costs_nothing() -> Claim:
    slots = range(4)
    without = Rational(sum(max(first, 4 + second) for first in slots for second in slots), 16)
    waiting = Rational(sum(4 + max(first, second) for first in slots for second in slots), 16)
    return Claim(
        id="LF-TIMEneg",
        place="Section 3.1.2, heterogeneous delays",
        says="Adding T_W has no negative effect, as a round's delay is decided by its slowest client.",
        parts=(
            at_most(waiting, without, "base times 0 and 4, delays uniform on {0, 1, 2, 3}: the mean end of the round"),
        ),
        corrected=Correction(
            "The worst case T_S + T is unchanged; the mean end of a round is later: 49/8 instead of 11/2 in this example.",
            parts=(
                equal(without, Rational(11, 2), "without T_W"),
                equal(waiting, Rational(49, 8), "with T_W"),
            ),
        ),
    )


def small_t() -> Claim:
    span = Variable("T", 0, oo, open="left")
    offset = Variable("D", 0, span)
    return Claim(
        id="LF-T0",
        place="Section 3.1.2, last paragraph",
        says="In theory T can be as small as clients and cloud can support.",
        parts=(equal(offset / span, 0, "the share D/T of a client's reports that its start offset D exposes is 0"),),
        condition=Condition(
            "There is no offset between clients at all (D = 0); else T must be large against d D for no report to be exposed.",
            (equal(offset.lower / span, 0, "with D = 0, for every T > 0"),),
        ),
    )


def median_of_proposals() -> Claim:
    low = Variable("a", 0, oo)
    high = Variable("b", low, oo)
    lie = Variable("x", -oo, oo)
    between = Variable("x", low, high)
    # The median of a, b, x with a <= b is a, x or b, as x lies below, between or above them.
    medians = ((low, "x <= a"), (between, "a <= x <= b"), (high, "x >= b"))
    parts = [at_most(low, median, f"{where}: not below the honest proposals") for median, where in medians]
    parts += [at_most(median, high, f"{where}: not above them") for median, where in medians]
    return Claim(
        id="LF-MEDIAN",
        place="Section 3.1.2, on how T is agreed",
        says="The median of the clients' proposals for T, unlike their average, resists a single dishonest client.",
        parts=(
            at_most((low + lie) / 2, low, "n = 2: the median of a and x is at most the honest proposal a, whatever x"),
        ),
        condition=Condition(
            "There are at least three clients, so that the honest ones are the majority.", tuple(parts)
        ),
        corrected=Correction(
            "With n = 2 the median is the average.",
            parts=(equal((1 + Integer(10) ** 9) / 2, Rational(1000000001, 2), "the median of 1 and 10^9"),),
        ),
        sizes="n = 2 and n = 3; more clients by the same argument",
    )


CLAIMS = (
    delays_unlink(),
    exposed_by_an_offset(),
    waiting_time(),
    waiting_costs_nothing(),
    small_t(),
    median_of_proposals(),
)
