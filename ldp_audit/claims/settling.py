"""Settle statements and claims by the engines, in order of cost."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sympy import Expr, Integer, Rational, log, oo, pi, sympify

from ldp_audit.claims import recheck, recheck_defined, recheck_ranges, recheck_written
from ldp_audit.claims.claim import Claim
from ldp_audit.claims.engines import (
    certificate,
    enumeration,
    escape,
    evaluate,
    interval,
    rise,
    root,
    simplest,
    smt,
    terms,
    whole_numbers,
)
from ldp_audit.claims.engines.evaluate import NotRationalError, Point, is_defined, value
from ldp_audit.claims.language.alone import Alone
from ldp_audit.claims.language.rounding import Ceil, Fl
from ldp_audit.claims.language.statement import Premise, Statement, is_linked, written
from ldp_audit.claims.verdict import Verdict, claim_verdict, combine
from ldp_audit.mechanisms.channel import Ind
from ldp_audit.mechanisms.variable import OPEN_ENDS, Variable
from ldp_audit.numerics import between, instance

OUT_OF_TIME = "not settled within the claim's"
"""How the reason of a part begins for which there was no time left."""
_FIRST_POINTS, _SOME_POINTS, _MANY_POINTS = 12, 150, 3000


class BadClaimError(ValueError):
    """The claim is not well formed, so it cannot be settled; the message says what is wrong and where."""


@dataclass(frozen=True)
class Settled:
    """A statement with its verdict, the engine that reached it, its time in seconds, and the evidence.

    defined: proofs that the statement is defined on its whole domain, as far as the ranges of its parts do not show it.
    compared: where it was rewritten, how what was written compares with the verdict (`recheck_written.comparison`).
    """

    statement: Statement
    verdict: Verdict
    engine: str
    seconds: float
    evidence: dict[str, Any]
    defined: tuple[dict[str, Any], ...] = ()
    compared: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, for report.json."""
        outcome = {"verdict": str(self.verdict), "engine": self.engine, "seconds": round(self.seconds, 4)}
        record = {**self.statement.to_dict(), **outcome, "evidence": self.evidence}
        if self.defined:
            record["defined"] = [*self.defined]
        return record if self.compared is None else {**record, "compared": self.compared}


@dataclass(frozen=True)
class SettledClaim:
    """A claim with the verdict that follows from its parts.   groups: its settled statements, named as in
    `Claim.groups`."""

    claim: Claim
    verdict: Verdict
    groups: dict[str, tuple[Settled, ...]]
    seconds: float

    @property
    def parts(self) -> tuple[Settled, ...]:
        """The settled statements of the source."""
        return self.groups["parts"]

    def all_parts(self) -> tuple[Settled, ...]:
        """Every statement that was settled for this claim."""
        return tuple(part for group in self.groups.values() for part in group)

    def correction_verdict(self) -> Verdict | None:
        """The verdict on the corrected statement; None if there is none with formal parts."""
        corrected = self.groups["corrected"]
        return combine([part.verdict for part in corrected]) if corrected else None


def settle_claim(claim: Claim, seconds: float = math.inf) -> SettledClaim:
    """Settle every part of the claim. Raises BadClaimError, naming the claim, if a part is not well formed.

    seconds: for the whole claim; parts that are not settled by then are UNDECIDED. The limit holds in the main thread
        of a POSIX system; elsewhere there is none.
    """
    instance(claim, Claim, "claim", "a Claim")
    seconds = between(seconds, "seconds", "a number of seconds > 0", lambda one: one > 0)
    start = time.perf_counter()

    def within(statement: Statement) -> Settled:
        with time_limit(start + seconds - time.perf_counter()):
            return settle(statement)
        reason = f"{OUT_OF_TIME} {seconds:g} s"
        return Settled(statement, Verdict.UNDECIDED, "none", 0.0, {"kind": "undecided", "reason": reason})

    try:
        groups = {name: tuple(map(within, group)) for name, group in claim.groups().items()}
    except ValueError as error:
        raise BadClaimError(f"claim {claim.id}: {error}") from error
    return concluded(claim, groups, time.perf_counter() - start)


def concluded(claim: Claim, groups: dict[str, tuple[Settled, ...]], seconds: float) -> SettledClaim:
    """The claim with the verdict that follows from its settled statements."""
    verdict = claim_verdict(
        _verdicts(groups["parts"]),
        _verdicts(groups["condition"] + groups["narrower"]),
        _verdicts(groups["void"]),
        sizes=bool(claim.sizes),
        argued=bool(claim.argument),
    )
    return SettledClaim(claim, verdict, groups, seconds)


class _OutOfTimeError(BaseException):
    """A BaseException, so that no engine catches it as its own failure."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Leave the block after this many seconds without an error; code after the block runs only in that case."""
    main = threading.current_thread() is threading.main_thread()
    if sys.platform == "win32" or seconds > threading.TIMEOUT_MAX or not main:
        yield
        return

    def out_of_time(_signal: int, _frame: object) -> None:
        raise _OutOfTimeError

    before = signal.signal(signal.SIGALRM, out_of_time)
    try:
        # again every second: what is raised in a callback of the garbage collector, or in __del__, is swallowed
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), 1.0)
        yield
    except _OutOfTimeError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def says_nothing(statement: Statement) -> bool:
    """Whether both sides are the same expression, as given or after SymPy's simplification: a vacuous statement."""
    same = statement.left == statement.right and statement.wrote is None
    return same and statement.relation in ("==", "<=")


def settle(statement: Statement) -> Settled:
    """The verdict on one statement. Raises BadClaimError if its domain is empty, or with a point of it at which what
    was written is undefined."""
    instance(statement, Statement, "statement", "a Statement")
    start = time.perf_counter()
    defined = _defined(statement)
    if isinstance(defined, str):
        evidence = {"kind": "undecided", "reason": f"it is not settled whether {defined} wherever it was written"}
        return Settled(statement, Verdict.UNDECIDED, "none", time.perf_counter() - start, evidence)
    settled = _by_engines(statement)
    if settled.verdict is not Verdict.UNDECIDED:
        settled = replace(settled, defined=defined)
    return replace(confirmed(settled), seconds=time.perf_counter() - start)


def _by_engines(statement: Statement) -> Settled:
    start = time.perf_counter()
    ask = {"for all": _for_all, "there is": _there_is, "one constant for all": _one_constant}[statement.quantifier]
    try:
        verdict, engine, evidence = ask(statement)
    except OverflowError as error:
        verdict, engine, evidence = Verdict.UNDECIDED, "none", {"kind": "undecided", "reason": str(error)}
    except (TypeError, NotRationalError) as error:
        raise BadClaimError(f"{statement.label or 'a part'}: {error}") from error
    except KeyError as error:
        raise BadClaimError(f"{statement.label or 'a part'}: a sum over {error} must be written out") from error
    return Settled(statement, verdict, engine, time.perf_counter() - start, evidence)


def _defined(statement: Statement) -> tuple[dict[str, Any], ...] | str:
    """Proofs of all that must hold so that what was written is defined on its domain; the first that is not settled.

    Raises BadClaimError with a point of the domain at which one fails.
    """
    found = []
    for condition in recheck_defined.conditions(statement.to_dict()):
        shown = _by_engines(_condition_statement(condition, statement.written_variables()))
        if shown.verdict is Verdict.REFUTED:
            where = _place(shown)
            raise BadClaimError(f"{statement.label or 'a part'} is undefined {where}: it needs {condition}")
        if shown.verdict is not Verdict.PROVED:
            return str(condition)
        record = {**shown.to_dict(), "written": condition.written()}
        try:
            if not recheck_written.identical(record):
                record["compared"] = recheck_written.comparison(record, shown.verdict)
        except recheck.RefusedError as objection:
            return f"{condition} ({objection})"
        found.append(record)
    return tuple(found)


def _place(shown: Settled) -> str:
    """Where a condition fails, in words, by the variables that were written."""
    evidence = shown.evidence
    own = {v.name for v in shown.statement.written_variables() if v.argument is None}
    point = {**evidence.get("point", {}), **evidence.get("written", {})}
    places = [f"{name} = {number}" for name, number in point.items() if name in own or "written" not in evidence]
    if evidence["kind"] == "root":
        low, high = evidence["between"]
        places.append(f"a root {evidence['variable']} of {evidence['factor']} between {low} and {high}")
    return f"at {', '.join(places)}, inside its domain" if places else "everywhere"


def _condition_statement(condition: recheck_defined.SideCondition, variables: Sequence[Variable]) -> Statement:
    """The statement of a condition under which an expression is defined.   variables: those outside of its sums and
    integrals."""
    names: dict[str, Any] = {**_FUNCTIONS, **{v.name: v for v in variables}}
    for name, record in condition.variables.items():
        if name not in names:
            ends = [
                sympify(record[side], locals=names) if record[side] is not None else infinite
                for side, infinite in (("lower", -oo), ("upper", oo))
            ]
            is_open = OPEN_ENDS[record["lower_open"], record["upper_open"]]
            names[name] = Variable(name, *ends, open=is_open, integer=record.get("integer", False))
    expression = sympify(condition.text, locals=names)
    pairs = [[sympify(side, locals=names) for side in (one[0], one[2])] for one in condition.given]
    premises = tuple(
        Premise(left, one[1], right)  # type: ignore[arg-type]
        for one, (left, right) in zip(condition.given, pairs, strict=True)
    )
    label = f"{condition} wherever it was written"
    sides = (expression, Integer(0)) if condition.relation == "!=" else (Integer(0), expression)
    return Statement(sides[0], condition.relation, sides[1], label, given=premises)


_FUNCTIONS = {"Pi": lambda: pi, "Ind": Ind, "Fl": Fl, "Ceil": Ceil, "Alone": Alone}
"""Functions of `written` that SymPy has under another name, or not at all."""


def confirmed(settled: Settled) -> Settled:
    """The result if the independent checker confirms it; UNDECIDED with the checker's objection otherwise.

    `ldp-audit recheck` therefore accepts every verdict that is returned.
    """
    try:
        record = settled.to_dict()
        seen = recheck.part(record)
        if seen != Verdict.UNDECIDED:
            recheck_written.require_defined(record)
        settled = replace(settled, compared=recheck_written.comparison(record, seen))
        if seen == settled.verdict:
            return settled
        objection = f"it sees {seen}"
    except Exception as error:  # noqa: BLE001  (any error of the checker is an objection)
        objection = str(error) or type(error).__name__
    return _undecided(
        settled, f"the {settled.engine} engine says {settled.verdict}, but the independent checker objects: {objection}"
    )


def _undecided(settled: Settled, reason: str) -> Settled:
    evidence = {"kind": "undecided", "reason": reason}
    return replace(settled, verdict=Verdict.UNDECIDED, engine="none", evidence=evidence, defined=(), compared=None)


Outcome = tuple[Verdict, str, dict[str, Any]]


def _for_all(statement: Statement) -> Outcome:
    if not statement.variables():
        return _numbers(statement)
    inside = _a_point_inside(statement)
    wider = statement.on_wider_domain()
    proof = _EQUALITY(wider) if statement.relation == "==" else None
    if proof is not None:
        return Verdict.PROVED, "identity", {**proof, "inside": inside}
    # One form for the whole domain proves most true statements; bisection comes after a search at simple points.
    inequality = statement.relation != "=="
    looks: list[tuple[int, Callable[[Statement], dict[str, Any] | None]]] = [
        (_FIRST_POINTS, _WHOLE),
        (_SOME_POINTS, terms.with_numbers_named(certificate.prove_in_halves)),
    ]
    for points, prove in looks:
        point = simplest.counterexample(statement, points)
        if point is not None:
            return Verdict.REFUTED, "search", _at("counterexample", statement, point)
        proof = prove(wider) if inequality else None
        if proof is not None:
            return Verdict.PROVED, "certificate", {**proof, "inside": inside}
    further: dict[str, Callable[[], dict[str, Any] | None]] = {
        "certificate": lambda: _TERMS(wider) if inequality else None,
        "identity": lambda: None if inequality else _TERMS_OF_AN_EQUALITY(wider),
        "rise": lambda: _risen(wider),
        "enumeration": lambda: _VALUE_BY_VALUE(wider),
        "induction": lambda: _INDUCTION(wider),
        "interval": lambda: interval.prove(wider),
    }
    for name, find in further.items():
        proof = find()
        if proof is not None:
            by = name if name != "induction" or whole_numbers.is_inductive(proof) else "certificate"
            return Verdict.PROVED, by, {**proof, "inside": inside}
    solved = _solved(wider)
    if solved.holds:
        return Verdict.PROVED, "smt", {**solved.evidence, "inside": inside}
    return _refuted(statement, solved) or _left_open(statement, solved)


def _refuted(statement: Statement, solved: smt.Solved) -> Outcome | None:
    """The statement refuted by a point among many, by z3's, by an end at which both sides tie, or by an irrational
    one."""
    point = simplest.counterexample(statement, _MANY_POINTS)
    if point is not None:
        return Verdict.REFUTED, "search", _at("counterexample", statement, point)
    if solved.point is not None and not statement.bounding:
        return Verdict.REFUTED, "smt", _at("counterexample", statement, solved.point)
    tie = _tie(statement) if statement.relation == "<" else None
    if tie is not None:
        return Verdict.REFUTED, "tie", tie
    zero = root.find(statement) if statement.relation in ("<", "!=") else None
    return None if zero is None else (Verdict.REFUTED, "root", zero)


def _left_open(statement: Statement, solved: smt.Solved) -> Outcome:
    """The reason why a statement is not settled, and what to write instead."""
    names = ", ".join(v.name for v in statement.bounding)
    opaque = ", ".join(dict.fromkeys(map(str, terms.terms_of(statement))))
    linked = [v for v in statement.variables() if is_linked(v, statement.variables())]
    if names:
        reason = f"the range of {names}, which is in neither side any more, may decide it; write {names} in one"
    elif opaque:
        reason = f"of {opaque} only a range is known; write a Variable for it, with what is known as given=(...)"
    elif linked:
        pairs = ", ".join(f"{v.name} = {'e**' if v.exp_of is not None else 'ln '}({v.argument})" for v in linked)
        reason = (
            f"derivatives do not settle it ({pairs}); write it for a bounded range of the exponent, or in steps that "
            "bound one exponential or logarithm each"
        )
    else:
        reason = (
            f"no form, cover or point settles it ({solved.reason}); write it for narrower domains, cut where both "
            "sides are nearly equal"
        )
    return Verdict.UNDECIDED, "none", {"kind": "undecided", "reason": reason}


_EQUALITY = terms.with_numbers_named(certificate.prove_equality)
_WHOLE = terms.with_numbers_named(certificate.prove_whole)

_TERMS = terms.with_numbers_named(lambda one: terms.prove(one, certificate.prove_whole, _enclosing))
_TERMS_OF_AN_EQUALITY = terms.with_numbers_named(lambda one: terms.prove(one, certificate.prove_equality, _enclosing))


_VALUE_BY_VALUE = terms.with_numbers_named(lambda one: enumeration.prove(one, _by_value))
_INDUCTION = terms.with_numbers_named(
    lambda one: whole_numbers.prove(one, whole_numbers.Means(_whole_or_terms, _VALUE_BY_VALUE, _enclosing))
)


def _tie(statement: Statement) -> dict[str, Any] | None:
    """Evidence that both sides are the same where one variable is at an end of its range; None if they are not."""
    for point in () if statement.given or statement.bounding else simplest.points(statement.variables(), _FIRST_POINTS):
        for v in (one for one in point if point[one] in (one.lower, one.upper)):
            try:
                there = statement.at({v: point[v]})
                proof = _WHOLE(replace(there, left=there.right, relation="<=", right=there.left))
            except (ValueError, ZeroDivisionError):
                continue
            if proof is not None:
                inside = {str(name): str(number) for name, number in point.items()}
                return {"kind": "part", "variable": str(v), "inside": inside, "proof": proof}
    return None


def _risen(statement: Statement) -> dict[str, Any] | None:
    named = terms.numbers_named(statement)
    logarithms = {term.args[0]: letter for letter, term in named.terms.items() if isinstance(term, log)}
    return named.evidence(rise.prove(named.statement, certificate.prove_whole, logarithms))  # type: ignore[arg-type]


def _enclosing(name: str, expression: Expr, statement: Statement) -> Variable:
    """A variable over the range of an expression in a statement's variables, as the checker finds it."""
    known = recheck.ranges_of(recheck.declared(statement.to_dict()))
    span = recheck_ranges.range_of(recheck.parsed(written(expression)), known)
    ends = [infinite if end is None else Rational(end) for end, infinite in ((span.low, -oo), (span.high, oo))]
    return Variable(name, *ends, open=OPEN_ENDS[span.low_open, span.high_open])


def _whole_or_terms(statement: Statement) -> dict[str, Any] | None:
    return _WHOLE(statement) or _TERMS(statement)


def _solved(statement: Statement) -> smt.Solved:
    """z3's answer, for a statement without irrational numbers."""
    if terms.numbers_named(statement).terms:
        return smt.Solved(holds=None, reason="it has irrational numbers, which z3 does not know")
    return smt.settle(statement)


def _by_value(statement: Statement, most: int) -> dict[str, Any] | None:
    """Evidence for one of many values of a whole-number variable, from the first engine that finds some."""
    if not statement.variables() and statement.relation != "==":
        shown = _numbers(statement)[0] is Verdict.PROVED
        return (certificate.prove_whole(statement) or {"kind": "box"}) if shown else None
    proof = _EQUALITY(statement) if statement.relation == "==" else _WHOLE(statement)
    return proof or enumeration.prove(statement, _by_value, most) or interval.prove(statement, 4 * most)


def _numbers(statement: Statement) -> Outcome:
    try:
        holds, evidence = evaluate.settle(statement)
    except ZeroDivisionError:
        raise BadClaimError(f"{statement.label or 'a part'} divides by zero") from None
    if holds is None:
        return Verdict.UNDECIDED, "recompute", {"kind": "undecided", "reason": "the two enclosures overlap"}
    return (Verdict.PROVED if holds else Verdict.REFUTED), "recompute", evidence


def _there_is(statement: Statement) -> Outcome:
    negated = statement.negated()
    if not statement.variables():
        return _numbers(replace(statement, quantifier="for all"))
    verdict, engine, evidence = _for_all(replace(negated, quantifier="for all"))
    if verdict is Verdict.REFUTED and engine == "root":
        return Verdict.PROVED, engine, evidence
    if verdict is Verdict.REFUTED:
        point = {variable: Fraction(evidence["point"][variable.name]) for variable in _free(statement)}
        return Verdict.PROVED, engine, _at("example", statement, point)
    if verdict is Verdict.PROVED:
        return Verdict.REFUTED, engine, {"kind": "denial", "proof": evidence}
    return verdict, engine, evidence


def _one_constant(statement: Statement) -> Outcome:
    proof = escape.prove(statement, _checkable)
    if proof is not None:
        return Verdict.PROVED, "certificate", proof
    proof = escape.refute(statement, _checkable)
    if proof is not None:
        return Verdict.REFUTED, "certificate", proof
    return Verdict.UNDECIDED, "none", {"kind": "undecided", "reason": "neither a constant nor an escape was found"}


def _checkable(statement: Statement) -> dict[str, Any] | None:
    """A proof by a positive form, which the independent checker verifies; None if there is none."""
    try:
        inside = _a_point_inside(statement)
    except BadClaimError:
        return None
    wider = statement.on_wider_domain()
    proof = certificate.prove_equality(wider) if wider.relation == "==" else certificate.prove(wider, least=1)
    return proof and {**proof, "inside": inside}


def _a_point_inside(statement: Statement) -> dict[str, str]:
    """A point of the domain, as evidence that it is not empty; all that it has must be defined at simple points."""
    first: Point | None = None
    for point in simplest.points_of(statement, 20):
        first = first or point
        if not all(is_defined(one, point) for one in (statement.left, statement.right, *statement.bounding)):
            where = ", ".join(f"{name} = {number}" for name, number in _in_its_words(statement, point).items())
            raise BadClaimError(f"{statement.label or 'a part'} is undefined at {where}, inside its domain")
    if first is None:
        raise BadClaimError(f"{statement.label or 'a part'}: no point was found in the domain of its variables")
    return {variable.name: str(number) for variable, number in first.items()}  # type: ignore[attr-defined]


def _at(kind: str, statement: Statement, point: Point) -> dict[str, Any]:
    """The point and both sides' values there, as evidence."""
    left, right = (evaluate.written(value(side, point)) for side in (statement.left, statement.right))
    where = {variable.name: str(point[variable]) for variable in _free(statement)}
    found = {"kind": kind, "point": where, "left": left, "right": right}
    return {**found, "written": _written_point(statement, point)} if statement.wrote is not None else found


def _in_its_words(statement: Statement, point: Point) -> dict[str, str]:
    """The point by the variables that were written, not by those that stand for their roots and exponentials."""
    own = {v.name for v in statement.written_variables() if v.argument is None}
    found = {str(v): str(number) for v, number in point.items() if statement.wrote is None or str(v) in own}
    return {**found, **(_written_point(statement, point) if statement.wrote is not None else {})}


def _written_point(statement: Statement, point: Point) -> dict[str, str]:
    """Values of the variables that were written and that the point does not have, in numbers and their logarithms."""
    variables = statement.written_variables()
    known: dict[Any, Expr] = {v: Rational(number.numerator, number.denominator) for v, number in point.items()}
    for v, by_its_root in statement.roots.items():
        known.setdefault(v, by_its_root.subs(known))
    for v in [v for v in variables if v not in known and not is_linked(v, variables)]:
        for one in known:
            if one.exp_of is None or not one.exp_of.has(v):
                continue
            exponent = one.exp_of.subs({other: value for other, value in known.items() if other != one})
            slope = exponent.coeff(v, 1)
            if slope.is_Rational and slope != 0 and exponent.free_symbols == {v}:
                known[v] = (log(known[one]) - exponent.coeff(v, 0)) / slope
                break
    lost = [v for v in variables if v not in known and not is_linked(v, variables) and not _bounds_depend(v)]
    for chosen in simplest.points(lost, 1):  # the sides no longer have them: any value does
        known |= {v: Rational(number.numerator, number.denominator) for v, number in chosen.items()}
    return {
        v.name: written(known[v])
        for v in variables
        if v in known and v not in point and not known[v].free_symbols and not is_linked(v, variables)
    }


def _bounds_depend(variable: Variable) -> bool:
    return bool(variable.lower.free_symbols | variable.upper.free_symbols)


def _free(statement: Statement) -> list[Any]:
    variables = statement.variables()
    return [variable for variable in variables if not is_linked(variable, variables)]


def _verdicts(settled: Sequence[Settled]) -> list[Verdict]:
    return [part.verdict for part in settled]
