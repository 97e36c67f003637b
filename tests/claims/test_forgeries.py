"""Forged evidence, collected from attacks on the checker: each record says something false and must be refused."""

from __future__ import annotations

from typing import Any

from ldp_audit.claims import recheck

MANY = "one constant for all"
ZERO_OVER_ZERO = "0*0**(-1)"


def var(name: str, lower: Any = None, upper: Any = None, *, lo: Any = False, uo: Any = False, **more: Any) -> dict:
    return {"name": name, "lower": lower, "upper": upper, "lower_open": lo, "upper_open": uo, **more}


def cert(gap: str, divisors: tuple[str, ...] = (), inside: dict | None = None, **more: Any) -> dict:
    return {"kind": "certificate", "gap": gap, "divisors": list(divisors), "inside": inside or {}, **more}


def record(variables: list, left: str, relation: str, right: str, evidence: dict, quantifier: str = "for all") -> dict:
    statement = {"label": "", "quantifier": quantifier, "variables": variables, "left": left, "relation": relation}
    return {**statement, "right": right, "evidence": evidence} | ({"constant": "K"} if quantifier == MANY else {})


def value(left: Any, right: Any) -> dict:
    return {"kind": "value", "left": left, "right": right}


def escape(path: dict, inside: list, proof: dict) -> dict:
    return {"kind": "escape", "path": path, "inside": inside, "proof": proof}


def cases(proofs: dict) -> dict:
    return {"kind": "cases", "variable": "n", "proofs": proofs, "inside": {"n": "1"}}


def terms(text: str, lower: Any, upper: Any, proof: dict, *, lo: Any = False, uo: Any = False, **more: Any) -> dict:
    letter = {"is": text, "lower": lower, "upper": upper, "lower_open": lo, "upper_open": uo}
    return {"kind": "terms", "letters": {more.pop("name", "term_0"): letter}, "proof": proof, "inside": at_one, **more}


def induction(start: dict, step: dict, inside: dict | None = None, **powers: dict) -> dict:
    return {
        "kind": "induction",
        "variable": "n",
        "powers": powers,
        "start": start,
        "step": step,
        "inside": inside or {"n": "1"},
    }


def power_of(base: str, lower: Any = None, upper: Any = None, *, lo: Any = False, uo: Any = False) -> dict:
    return {"base": base, "lower": lower, "upper": upper, "lower_open": lo, "upper_open": uo}


def root(factor: str, cofactor: str, low: str, high: str, point: dict | None = None, name: str = "x") -> dict:
    ends = {"between": [low, high], "factor": factor, "cofactor": cofactor}
    return {"kind": "root", "variable": name, "point": point or {}, **ends}


def given(made: dict, *premises: list[str]) -> dict:
    return {**made, "given": list(premises)}


x = var("x", "0", "1")
whole = var("n", "1", "3", integer=True)
real = var("x")
K = var("K", "0", lo=True)
from_0, from_1, counted = var("x", "0"), var("n", "1", integer=True), var("n", "0", integer=True)
t_of_x = var("t", "0", lo=True, exp_of="x")
at_one = {"x": "1"}

FORGED = {
    "zero over zero is anything": record([x], "0", "<=", "-5", cert(ZERO_OVER_ZERO, inside=at_one)),
    "one plus zero over zero": record([x], "x", "!=", "x", cert("1+" + ZERO_OVER_ZERO, inside=at_one)),
    "a divisor that is zero over zero": record(
        [x], "1/x", "<=", "-5", cert(ZERO_OVER_ZERO, ("1+" + ZERO_OVER_ZERO,), at_one)
    ),
    "a negative power of a slack": record(
        [var("x", "0", "0/1")], "0", "<=", "-5", cert("5*lo_x*hi_x**(-1)", inside={"x": "0"})
    ),
    "halves cut at the variable itself": record(
        [x], "0", "<=", "-5",
        {"kind": "halves", "variable": "x", "at": "x", "inside": at_one,
         "below": cert("hi_x*hi_x**(-1)"), "above": cert("lo_x*lo_x**(-1)")},
    ),
    "Taylor of degree -1": record([real, t_of_x], "1", "<=", "t", cert("lo_t", taylor=-1, inside={"x": "0"})),
    "Taylor of degree 2": record([real, t_of_x], "1+x+x**2/2", "<=", "t", cert("lo_t", taylor=2, inside={"x": "0"})),
    "Taylor of degree True": record([real, t_of_x], "1+x", "<=", "t", cert("lo_t", taylor=True, inside={"x": "0"})),
    "an escape that fixes the constant": record([K], "2", "<=", "K", escape({"K": "1"}, [], cert("1")), MANY),
    "an escape that breaks a link": record(
        [K, x, t_of_x], "t", "<=", "K",
        escape({"x": "0", "t": "K+1"}, [cert("0"), cert("1"), cert("lo_K+1")], cert("1")), MANY,
    ),
    "an escape whose linked bounds prove themselves": record(
        [K, var("x", "0"), var("t", "1", "2", exp_of="x")], "x", "<=", "K",
        escape({"x": "K+1"}, [cert("lo_K+1"), cert("lo_t"), cert("hi_t")], cert("1")), MANY,
    ),
    "an escape over whole numbers that is not whole": record(
        [K, var("n", "1", integer=True)], "1/(2*n-3)**2", "<=", "K",
        escape({"n": "3/2+1/(2*(K+1))"}, [cert("1/2+1/(2*(lo_K+1))", ("lo_K+1",))], cert("lo_K**2+lo_K+1")), MANY,
    ),
    "an escape that names a slack": record(
        [K, var("y")], "1", "<=", "K", escape({"y": "0", "lo_y": "-K"}, [], cert("lo_y+1")), MANY
    ),
    "an escape in an empty domain": record(
        [K, var("y", "1", "0")], "1", "<=", "K", escape({}, [cert("lo_y"), cert("hi_y")], cert("1")), MANY
    ),
    "an escape that denies '!='": record(
        [K, var("x", "0")], "x+1", "!=", "0*K", escape({"x": "0"}, [cert("0")], cert("1")), MANY
    ),
    "a constant that is not any positive number": record(
        [var("K", "5")], "K", "<=", "1", {"kind": "constant", "constant": "1", "proof": cert("0")}, MANY
    ),
    "a counterexample off its link": record(
        [var("u", "0", lo=True, exp_of="t"), t_of_x, real], "1", "<", "u",
        {"kind": "counterexample", "point": {"x": "0", "t": "-1"}, "left": "1", "right": "0.36787944"},
    ),
    "an example outside a domain declared too early": record(
        [var("y", "t", "t+1"), t_of_x, x], "5", "<", "y",
        {"kind": "example", "point": {"x": "0", "y": "100", "t": "100"}, "left": "5", "right": "100"}, "there is",
    ),
    "an undeclared variable": record(
        [x], "z", "<=", "1", {"kind": "counterexample", "point": {"x": "0", "z": "9"}, "left": "9", "right": "1"}
    ),
    **{
        f"{exponent} for e, at numbers": record(
            [whole, var("e", "0", lo=True), var("a", exp_of=exponent, moved=True), var("b", exp_of="e")],
            "a", "==", "b",
            {**cases({k: {"kind": "identity", "divisors": []} for k in "123"}), "inside": {"n": "1", "e": "1"}},
        )
        for exponent in ("e*n", "e*n/2", "-e*n", "Abs(e)*n", "n*e*(n - 2)/(n - 2)")
    },
    "a logarithm that is an exponential too": record(
        [var("z", "0", lo=True), var("u", log_of="z", exp_of="z")],
        "u", "<=", "z - 1", cert("hi_u", ("lo_z",), {"z": "2"}),
    ),
    "an irrational exponent": record([], "2**(1+10**20*(log(6)-log(2)-log(3)))", "<", "2", value("1", "2")),
    "an indicator as an exponent": record([], "2**Ind(sqrt(2)*sqrt(2), 2)", "<", "2", value("1", "2")),
    "a root of zero upside down": record([], "0**(-1/2)", "==", "0", value("0", "0")),
    "a tower of powers": record([], "9**9**9", "<", "1", value("0", "1")),
    "a variable called like a slack": record(
        [var("x", "0", "0"), var("lo_x")], "0", "<=", "lo_x", cert("lo_x", inside={"x": "0", "lo_x": "-5"})
    ),
    "a slack in the statement": record([var("x", "0")], "0", "<=", "lo_x", cert("lo_x", inside=at_one)),
    "two names that Python reads as one": record(
        [real, var("\U0001d431")], "x", "==", "\U0001d431", cert("0", inside={"x": "0", "\U0001d431": "1"})
    ),
    "a variable called 1": record([var("1", "2", "3")], "0", "<=", "-1", cert("lo_1", inside={"1": "2"})),
    "a variable declared twice": record([var("x", "5", "6"), x], "x", "<=", "1", cert("hi_x", inside=at_one)),
    "a comment in an end": record([var("x", None, "-5 #")], "0", "<=", "-5", cert("hi_x", inside={"x": "-6"})),
    "an end that closes a parenthesis": record([var("x", "0) + (5")], "0", "<=", "x+5", cert("lo_x", inside=at_one)),
    "an end that is no text": record(
        [var("x", 0)], "0", "<=", "x", {"kind": "counterexample", "point": {"x": "-1"}, "left": "0", "right": "-1"}
    ),
    "an openness that is no truth value": record(
        [var("x", "0", lo=float("nan"))], "0", "<", "2*x", cert("2*lo_x", inside=at_one)
    ),
    "an unknown relation": record([x], "x", ">=", "5", cert("hi_x+4", inside=at_one)),
    "an empty domain": record([var("x", "1", "0")], "0", "<=", "-5", cert("5*lo_x+5*hi_x")),
    "a missing point inside": record([var("x", "2", "1")], "0", "<=", "-1", cert("lo_x+hi_x")),
    "numbers about a variable": record([x], "0", "<", "1", value("0", "1"), "there is"),
    "an unknown quantifier": record([x], "0", "<=", "x", cert("lo_x", inside=at_one), "for no"),
    "a solver's word for an O-statement": record([K, x], "x", "<=", "K", {"kind": "smt"}, MANY),
    "keywords in a call": record([], "Max(0, 0, key=3)", "<", "1", value("0", "1")),
    "an exponent that is a call": record([real], "x**1(2)", "==", "x**12", cert("0", inside=at_one)),
    "a comment in a side": record([], "0", "<=", "5 # - 10", value("0", "5")),
    "code": record([], "().__class__", "<", "1", value("0", "1")),
    "a box that is too wide": record([x], "x", "<=", "x", {"kind": "box", "inside": at_one}),
    "a box that shows an equality": record([x], "1", "==", "1", {"kind": "box", "inside": at_one}),
    "a box for a false claim": record([x], "exp(x)", "<=", "2", {"kind": "box", "inside": at_one}),
    "a box around a pole": record([var("x", "-1", "1")], "0", "<=", "1/x+9", {"kind": "box", "inside": at_one}),
    "a box without an end": record([var("x", "0")], "0", "<=", "x+1", {"kind": "box", "inside": at_one}),
    "a box that forgets a cut": record(
        [x], "x", "<", "3/4",
        {"kind": "halves", "variable": "x", "at": "1/2", "inside": at_one, "below": {"kind": "box"},
         "above": {"kind": "box"}},
    ),
    "a box where an exponential's own end is not defined": record(
        [x, var("t", "1/x", exp_of="x")], "1/t", "<", "2", {"kind": "box", "inside": at_one}
    ),
    "a case that is left out": record([whole], "n", "<=", "2", cases({"1": cert("1"), "2": cert("0")})),
    "a case too many": record(
        [whole], "n", "<=", "9", cases({str(k): cert(str(9 - k)) for k in range(5)})
    ),
    "a case that is false": record(
        [whole], "n", "<=", "2", cases({"1": cert("1"), "2": cert("0"), "3": cert("1")})
    ),
    "cases of what is not whole": record(
        [var("n", "1", "3")], "n", "!=", "3/2", cases({str(k): cert("1") for k in (1, 2, 3)})
    ),
    "more cases than there is time for": record(
        [var("n", "0", "9**15", integer=True)], "n", "<=", "5", cases({"0": {"kind": "box"}, "1": {"kind": "box"}})
    ),
    "zero to the power of zero": record(
        [var("n", "0", "1", integer=True)], "0**n", "<", "1", cases({"0": {"kind": "box"}, "1": {"kind": "box"}})
    ),
    "a case put into a name that contains it": record(
        [whole, var("nx", "0", "1")], "nx", "<", "1",
        {"kind": "cases", "variable": "n", "proofs": {str(k): cert("hi_nx") for k in (1, 2, 3)},
         "inside": {"n": "1", "nx": "0"}},
    ),
    "cases within cases that lean on each other": record(
        [whole, var("m", "n", "3", integer=True)], "m", "<=", "2",
        {"kind": "cases", "variable": "n", "inside": {"n": "1", "m": "1"},
         "proofs": {str(k): {"kind": "cases", "variable": "m",
                             "proofs": {str(j): {"kind": "box"} for j in range(1, 3)}} for k in (1, 2, 3)}},
    ),
    "a case lost where a domain is cut": record(
        [whole], "n", "!=", "2",
        {"kind": "halves", "variable": "n", "at": "3/2", "inside": {"n": "1"},
         "below": {"kind": "cases", "variable": "n", "proofs": {"1": {"kind": "box"}}},
         "above": {"kind": "cases", "variable": "n", "proofs": {"3": {"kind": "box"}}}},
    ),
    "a case on a solver's word": record(
        [whole], "n", "<=", "2", cases({"1": cert("1"), "2": cert("0"), "3": {"kind": "smt", "inside": {}}})
    ),
    "rounded down where the nearest float is above": record(
        [], "Fl(2**24 + 3, 24)", "<", "2**24 + 3", value("16777218", "16777219")
    ),
    "a tie that goes to the odd float": record(
        [], "Fl(2**24 + 1, 24)", "==", "2**24 + 2", value("16777218", "16777218")
    ),
    "a float of another precision": record(
        [], "Fl(1/3, 24)", "==", "Fl(1/3, 53)", value("11184811/33554432", "11184811/33554432")
    ),
    "a float that was not rounded": record([], "Fl(1/3, 24)", "==", "1/3", value("1/3", "1/3")),
    "a whole number that was rounded down": record([], "Ceil(7/2)", "==", "3", value("3", "3")),
    "a float of no bits": record([], "Fl(1/3, 0)", "<=", "1", value("0", "1")),
    "a float of half a bit": record([], "Fl(1/3, 1/2)", "<=", "1", value("0", "1")),
    "a float of a negative number of bits": record([], "Fl(1/3, -1)", "<=", "1", value("0", "1")),
    "a float of more bits than there is time for": record([], "Fl(1/3, 10**9)", "<=", "1", value("0.3333333333", "1")),
    "a float of an uncertain number of bits": record([], "Fl(1/3, sqrt(2)**2)", "<=", "1", value("1/3", "1")),
    "a float that two roundings leave open": record([], "Fl(sqrt(4), 1000)", "==", "2", value("2", "2")),
    "a jump inside a box": record([x], "Fl(x, 2)", "!=", "3/8", {"kind": "box", "inside": at_one}),
    "a float in a box that is too wide": record([x], "Fl(x, 24)", "<", "1", {"kind": "box", "inside": at_one}),
    "a variable called like the rounding": record(
        [var("Fl", "0", "1")], "Fl", "<=", "1", cert("hi_Fl", inside={"Fl": "1"})
    ),
    # At x = 1, y = 0 the right side is -1. It rises from x = 0, where it would be 1 if y/y were.
    "a rise from an excluded point where a divisor vanishes": record(
        [var("x", "0", lo=True, uo=True), var("y", "0", "1 - 1")], "0", "<=", "(y - x)/(x + y)",
        {"kind": "rise", "inside": {"x": "1", "y": "0"}, "variable": "x", "factor": "1",
         "function": "(y - x)/(x + y)", "divisors": ["lo_x + lo_y"], "positive": cert("1"),
         "start": {"function": "1", "relation": "<=", "proof": cert("1")},
         "slope": {"function": "-2*y/(x+y)**2", "relation": "<=",
                   "proof": cert("2*hi_y/(lo_x+lo_y)**2", ("lo_x+lo_y", "1"))}},
    ),
    # Negative for u in (-1, 0). Nothing shows that u, u + 1, ... are positive: no side has their logarithms.
    "slacks of logarithms that the statement does not have": record(
        [var("u", "-4", "5"), *(var(f"L{k}", log_of=f"u + {k}") for k in range(5))],
        "0", "<=", "(u-1)**2*u*(u+1)*(u+2)*(u+3)",
        cert("*".join(f"(lo_L{k} + hi_L{k})" for k in range(5)) + "*lo_u", inside={"u": "1"}),
    ),
    # ln u = u - 1 at u = 1, whatever the variable's own ends are.
    "a slack of a logarithm that is never zero": record(
        [var("u", "0", lo=True), var("log_1", log_of="u", lo=True, uo=True)], "log_1", "<", "u - 1",
        cert("hi_log_1", ("lo_u",), {"u": "2"}),
    ),
    "a slack of a logarithm that is never zero, for two that differ": record(
        [var("u", "0", lo=True), var("log_1", log_of="u", lo=True, uo=True)], "1 - 1/u", "!=", "log_1",
        cert("lo_log_1", ("lo_u",), {"u": "2"}),
    ),
    "an even power of what is not defined": record(
        [var("x", "0", "0/1")], "0*x", "<=", "-5", cert("5*lo_x*hi_x*(1/x)**2", inside={"x": "0"})
    ),
    "a divisor that is not defined where it should not vanish": record(
        [var("x", "-1", "1")], "0*x", "<=", "1/(1 + (1/x)**2)",
        cert("1/(1 + (1/x)**2)", ("1 + (1/x)**2", "(1/x)**2*(1 + hi_x + lo_x)"), inside={"x": "1"}),
    ),
    # With lo_L and hi_L >= 0, x = (x + 1)**2/(lo_L + hi_L + 4) would be positive; on (-1, 0] there is no logarithm.
    "a logarithm whose own slacks show that it is one": record(
        [var("x", "-1", "1", lo=True, uo=True), var("L", log_of="x")], "L - L", "<", "x",
        cert("lo_x**2/(lo_L+hi_L+4)", ("lo_x**2/(lo_L+hi_L+4)", "lo_x"), inside={"x": "1/2"}),
    ),
    "an end whose own slacks show that it is defined": record(
        [var("x", "-1", "1", lo=True), var("y", "1/x", "-1")], "0*y", "<=", "2 - x",
        cert("hi_x+1", ("1/(lo_y+hi_y+1)",), inside={"x": "-1/2", "y": "-2"}),
    ),
    "an exponential whose exponent is not defined": record(
        [var("x", "-1", "1"), var("t", "0", lo=True, exp_of="1/x")], "0", "<", "t", cert("lo_t", inside={"x": "1"})
    ),
    # At y = 0 the right side is -1. Where x begins, t is 1, so that t - 1 + y may vanish.
    "a rise from a point where a divisor vanishes with an exponential": record(
        [var("x", "0", lo=True), var("t", "1", lo=True, exp_of="x"), var("y", "0", "1-1")],
        "0", "<=", "(y-(t-1))/((t-1)+y)",
        {"kind": "rise", "inside": {"x": "1", "y": "0"}, "variable": "x", "factor": "1",
         "function": "(y-(t-1))/((t-1)+y)", "divisors": ["lo_t+lo_y"], "positive": cert("1"),
         "start": {"function": "1", "relation": "<=", "proof": cert("1")},
         "slope": {"function": "-2*y*t/((t-1)+y)**2", "relation": "<=",
                   "proof": cert("2*hi_y*(lo_t+1)/(lo_t+lo_y)**2", ("lo_t+lo_y",))}},
    ),
    "a rise without a strict beginning at a closed end": record(
        [var("x", "0")], "0", "<", "x",
        {"kind": "rise", "inside": at_one, "variable": "x", "factor": "1", "function": "x", "divisors": [],
         "positive": cert("1"), "start": {"function": "0", "relation": "<=", "proof": cert("0")},
         "slope": {"function": "1", "relation": "<", "proof": cert("1")}},
    ),
    "a solver's denial of what holds at its own point": record(
        [x], "x", "<=", "1", {"kind": "denial", "proof": {"kind": "smt", "inside": {"x": "0"}}}, "there is"
    ),
    "an escape along which a linked variable is not defined": record(
        [K, var("z", "0", "1"), var("x", "0"), var("t", exp_of="1/z")], "x", "<=", "K",
        escape({"z": "0", "x": "K+1"}, [cert("0"), cert("1"), cert("lo_K+1")], cert("1")), MANY,
    ),
    "a Taylor polynomial that is less than exp everywhere": record(
        [var("e", "0"), var("t", "1", lo=True, exp_of="e")], "1 + e", "<", "t",
        cert("lo_t", taylor=1, inside={"e": "1"}),
    ),
    "exp(e) exp(-e) that is less than 1": record(
        [var("e", "-1/2", "1/2"), var("t", "0", lo=True, uo=True, exp_of="e")], "t*(1 - e)", "<", "1",
        cert("hi_t", taylor=1, inside={"e": "1/4"}),
    ),
    "a constant that is an exponential": record(
        [x, var("K", "0", lo=True, exp_of="x")], "K + 1", "<=", "K",
        {"kind": "escape", "path": {"x": "0"}, "inside": [cert("0"), cert("1")], "proof": cert("1")}, MANY,
    ),
    "zero to a power of zero that is a symbol": record(
        [x], "x**0", "==", "1", {"kind": "identity", "divisors": [], "inside": at_one}
    ),
    "an irrational number between other ends": record(
        [x], "3*x/2", "<=", "sqrt(2)*x", terms("sqrt(2)", "3/2", "2", cert("lo_x*lo_term_0"))
    ),
    "a number strictly above itself": record(
        [x], "2*x + 2", "<", "2*x + sqrt(4)", terms("sqrt(4)", "2", "3", cert("lo_term_0"), lo=True)
    ),
    "a term below its range": record([x], "sqrt(x)", "<=", "1/2", terms("sqrt(x)", "0", "1/2", cert("hi_term_0"))),
    "a root that is never zero": record(
        [x], "0", "<", "sqrt(x)", terms("sqrt(x)", "0", None, cert("lo_term_0"), lo=True)
    ),
    "a logarithm of zero that cancels": record([x], "log(x)", "<=", "log(x)", terms("log(x)", None, None, cert("0"))),
    "a root of what is negative, with a proof of something else": record(
        [x], "0", "<=", "sqrt(x - 1)", terms("sqrt(x - 1)", "0", None, cert("lo_term_0"))
    ),
    "a term in place of a variable": record([x], "x", "<=", "1/2", terms("sqrt(x)", "0", "1/2", cert("1/2"), name="x")),
    "a term of what is unknown": record([x], "x", "<=", "2", terms("sqrt(y)", "0", None, cert("hi_x + 1"))),
    "a step that reaches its upper end": record(
        [x], "Ceil(x)", "<", "x + 1",
        terms("Ceil(x)", "x", "(x) + 1", cert("hi_term_0"), uo=False),
    ),
    "a step that is below its argument": record(
        [x], "Ceil(x)", "<=", "x", terms("Ceil(x)", "x - 1", "x", cert("hi_term_0"))
    ),
    "an induction without its start": record([from_1], "n + 1", "<=", "2**n", induction(
        cert("1"), cert("2*lo_given_0 + lo_n + 1"), power_0=power_of("2", "1"))
    ),
    "an induction whose step is another": record([from_1], "2*n", "<=", "2**n", induction(
        cert("0"), cert("2*lo_given_0 + lo_n"), power_0=power_of("2", "1"))
    ),
    "an induction whose step takes the wrong base": record([from_1], "3**n", "<=", "3*2**n", induction(
        cert("3"), cert("2*lo_given_0"), power_0=power_of("3", "1"), power_1=power_of("2", "1"))
    ),
    "an induction over a variable that is not whole": record([var("n", "0")], "0", "<=", "2*n**2 - n", induction(
        cert("0"), cert("lo_given_0 + 4*lo_n + 1"), {"n": "1"})
    ),
    "an induction from where its premise does not hold": given(
        record([from_1], "0", "<=", "-1", induction(cert("lo_given_0/4"), cert("lo_given_0"), {"n": "5"})),
        ["5", "<=", "n"],
    ),
    "a root of a whole number's reciprocal": record(
        [from_1], "0", "<=", "((-2)**(n**(-1)))**2", terms(
            "(-2)**(n**(-1))", None, None, cert("term_0**2"), lo=True, uo=True) | {"inside": {"n": "1"}}
    ),
    "an induction downwards": record(
        [var("n", None, "1", integer=True)], "0", "<=", "n", induction(cert("1"), cert("1"))
    ),
    "an induction along an end that moves": record([from_1, var("y", "0", "1/n")], "n*y", "<=", "y", induction(
        cert("0"), cert("lo_given_0"), {"n": "1", "y": "0"})
    ),
    "an induction of half a power": record([counted], "2**(n/2)", "<=", "2**n", induction(
        cert("0"), cert("1"), {"n": "0"}, power_0=power_of("2", "1"))
    ),
    "a power of a half that is at least 1": record([counted], "1", "<=", "(1/2)**n", induction(
        cert("0"), cert("lo_power_0/2 - 1/2 + 1/2"), {"n": "0"}, power_0=power_of("1/2", "2"))
    ),
    "a power of minus one that is positive": record([from_1], "0", "<=", "(-1)**n + 1 - 1", induction(
        cert("0"), cert("lo_power_0"), power_0=power_of("-1", "0"))
    ),
    "an induction on an equality": record([from_1], "n", "==", "1", induction(
        {"kind": "identity", "divisors": []}, {"kind": "identity", "divisors": []})
    ),
    "a cut that leaves out the numbers between": record([var("x", "0", "3")], "0", "<=", "(x - 1)*(x - 2)", {
        "kind": "halves", "variable": "x", "at": "1", "inside": at_one,
        "below": cert("hi_x*(hi_x + 1)"), "above": cert("lo_x*(lo_x + 1)")}
    ),
    "a cut at half a number that jumps": record([var("n", "0", "3", integer=True)], "0", "<=", "(n - 1)*(2*n - 3)", {
        "kind": "halves", "variable": "n", "at": "1/2", "inside": {"n": "1"},
        "below": cert("(hi_n + 1/2)*(2*hi_n + 2)"), "above": cert("(lo_n + 1/2)*2*lo_n")}
    ),
    "a premise that is not there": record([x], "x", "<=", "1/2", cert("lo_given_0", inside={"x": "0"})),
    "a premise that is another": given(
        record([x], "x", "<=", "1/2", cert("lo_given_0", inside={"x": "0"})), ["x", "<=", "3/4"]
    ),
    "a premise that is taken for a strict one": given(
        record([x], "x", "<", "1/2", cert("lo_given_0", inside={"x": "0"})), ["x", "<=", "1/2"]
    ),
    "a premise that holds at no point": given(
        record([x], "x", "<=", "-5", cert("lo_given_0", inside={"x": "0"})), ["x", "<=", "-5"]
    ),
    "a premise that shows that it is defined": given(
        record([var("x", "-1", "1")], "0", "<=", "x/x**2 + 1 - 1/x", cert("1", ("lo_given_0",), {"x": "1"})),
        ["0", "<", "x*1/x*x**2"],
    ),
    "a premise in the place of a strict inequality": given(
        record([x], "0", "<", "x", cert("lo_given_0", inside=at_one)), ["0", "<=", "x"]
    ),
    "a premise of another relation": given(
        record([x], "x", "<=", "0", cert("lo_given_0", inside={"x": "0"})), ["x", "!=", "0"]
    ),
    "a counterexample that the premise excludes": given(
        record([x], "x", "<=", "1/2", {"kind": "counterexample", "point": at_one, "left": "1", "right": "1/2"}),
        ["x", "<=", "1/2"],
    ),
    "an example that the premise excludes": given(
        record([x], "1/2", "<", "x", {"kind": "example", "point": at_one, "left": "1/2", "right": "1"}, "there is"),
        ["x", "<=", "1/2"],
    ),
    "a box under a premise that it does not know": given(
        record([x], "x", "<=", "1/2", {"kind": "box", "inside": {"x": "0"}}), ["x", "<=", "1/2"]
    ),
    "a root without a change of sign": record([x], "0", "<", "x**2 + 1", root("x**2 + 1", "1", "0", "1")),
    "a root that lies outside": record([x], "0", "<", "(x**2 - 2)**2", root("x**2 - 2", "x**2 - 2", "1", "2")),
    "a factor of something else": record([x], "0", "<", "x + 1", root("2*x - 1", "1", "0", "1")),
    "a pole in the place of a root": record(
        [x], "0", "<", "1/(2*x - 1)**2", root("2*x - 1", "1/(2*x - 1)**3", "0", "1")
    ),
    "a root of a whole number": record(
        [whole], "0", "<", "(2*n - 3)**2", root("2*n - 3", "2*n - 3", "1", "2", name="n")
    ),
    "a root where the domain moves": record(
        [var("x", "0", "2"), var("y", "x", "1")], "0", "<", "(x**2 - 2)**2 + 0*y",
        root("x**2 - 2", "x**2 - 2", "1/2", "3/2", {"y": "1"}),
    ),
    "a root for what is not strict": record([x], "0", "<=", "(2*x - 1)**3", root("2*x - 1", "(2*x - 1)**2", "0", "1")),
}  # fmt: skip


def is_refused(forged: dict) -> bool:
    """Whether it is not let through, be it in words or by what malformed evidence runs into."""
    try:
        recheck.part(forged)
    except Exception:  # noqa: BLE001
        return True
    return False


def test_every_forgery_is_refused() -> None:
    assert [name for name, forged in FORGED.items() if not is_refused(forged)] == []


def test_an_honest_record_of_the_same_make_is_accepted() -> None:
    assert recheck.part(record([x], "x", "<=", "1", cert("hi_x", inside=at_one))) == "PROVED"
    honest = escape({"x": "K+1"}, [cert("lo_K+1")], cert("1"))
    assert recheck.part(record([K, var("x", "0")], "x", "<=", "K", honest, MANY)) == "REFUTED"
    assert recheck.part(record([real, t_of_x], "1+x", "<=", "t", cert("lo_t", taylor=1, inside={"x": "0"}))) == "PROVED"
    assert recheck.part(record([x], "exp(x)", "<=", "3", {"kind": "box", "inside": at_one})) == "PROVED"
    every = cases({"1": cert("2"), "2": cert("1"), "3": cert("0")})
    assert recheck.part(record([whole], "n", "<=", "3", every)) == "PROVED"
    rounding = record([], "Fl(2**24 + 1, 24)", "==", "2**24", value("16777216", "16777216"))
    assert recheck.part(rounding) == "PROVED"
    assert recheck.part(record([x], "Fl(x, 24)", "<", "2", {"kind": "box", "inside": at_one})) == "PROVED"
    linked = [whole, var("e", "0", lo=True), var("a", exp_of="e*n"), var("b", "1", lo=True, exp_of="e")]
    grown = cases({"1": cert("lo_b*(lo_b + 1)*(lo_b + 2)"), "2": cert("lo_b*(lo_b + 1)**2"), "3": cert("0")})
    assert recheck.part(record(linked, "a", "<=", "b**3", {**grown, "inside": {"n": "1", "e": "1"}})) == "PROVED"
    shown = terms("sqrt(2)", "7/5", "3/2", cert("lo_x*(lo_term_0 + 2/5)"))
    assert recheck.part(record([x], "x", "<=", "sqrt(2)*x", shown)) == "PROVED"
    assert recheck.part(record([x], "0", "<=", "sqrt(x)", terms("sqrt(x)", "0", None, cert("lo_term_0")))) == "PROVED"
    step = terms("Ceil(x)", "x", "(x) + 1", cert("hi_term_0"), uo=True)
    assert recheck.part(record([x], "Ceil(x)", "<", "x + 1", step)) == "PROVED"
    doubled = induction(cert("0"), cert("2*lo_given_0 + lo_n"), {"n": "0"}, power_0=power_of("2", "1"))
    assert recheck.part(record([counted], "n + 1", "<=", "2**n", doubled)) == "PROVED"
    halves = {"kind": "halves", "variable": "n", "at": "1", "inside": {"n": "1"}}
    halves |= {"below": cert("hi_n*(hi_n + 1)"), "above": cert("lo_n*(lo_n + 1)")}
    assert recheck.part(record([var("n", integer=True)], "0", "<=", "(n - 1)*(n - 2)", halves)) == "PROVED"
    assert recheck.part(given(record([x], "2*x", "<", "1", cert("2*lo_given_0", inside={"x": "0"})), ["x", "<", "1/2"]))
    assert (
        recheck.part(record([from_0], "0", "<", "(x**2 - 2)**2", root("x**2 - 2", "x**2 - 2", "1", "2"))) == "REFUTED"
    )
    solved = record([from_0], "x**2", "==", "2", root("x**2 - 2", "-1", "1", "2"), "there is")
    assert recheck.part(solved) == "PROVED"
    powers = cases({"1": cert("6"), "2": cert("4"), "3": cert("0")})
    assert recheck.part(record([whole], "2**n", "<=", "8", powers)) == "PROVED"
