"""Evidence in words and in arithmetic that a reader can verify by hand, from report.json's data alone."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from ldp_audit.claims import manifest
from ldp_audit.claims.recheck_report import by_solver_alone
from ldp_audit.reports import notation
from ldp_audit.reports.notation import readable

LONG_FORM = 400
"""Longer forms (in characters) are cut in readable reports; report.json has them in full."""

_CASES = 6
"""Distributions of more cases are folded: they would take the place of what is said about them."""

VERDICTS = {
    "PROVED": "holds as stated, or as it is charitably read; the proof is below and can be rechecked",
    "REFUTED": "does not hold; an exact counterexample or the proof of its denial is below",
    "CONDITIONAL": "holds under an assumption that the source does not state, and fails without it",
    "VACUOUS": "holds, but of things that it was meant to exclude as well",
    "ENUMERATED": "holds at the sizes that are listed",
    "NUMERIC": "supported by numbers, not proved",
    "PROSE": "argued in words, not settled by an engine",
    "UNDECIDED": "not settled",
}

SOURCES = {
    "paper": "",
    "damaged conversion": "Not the paper's claim: a damaged conversion's reading, kept as a test of the engines.",
    "derived": "Not the paper's claim: our own quantification.",
}


EXPERIMENTS = "Experiments, with statistical verdicts, which are apart from the formal one:"


def digest(claims: list[dict[str, Any]]) -> str:
    """The first digits of the claims' digest, by which a page can be matched with its report.json."""
    return manifest.digest(claims)[:16]


def badge(claim: dict[str, Any]) -> str:
    """The verdict as displayed, with a mark on proofs that rest on a solver's word alone."""
    parts = [part for group in ("parts", "condition", "narrower") for part in claim["evidence"][group]]
    rests_on_solver = any(by_solver_alone(part["evidence"]) for part in parts)
    return f"{claim['verdict']} (smt)" if rests_on_solver else claim["verdict"]


def as_stated(claim: dict[str, Any]) -> str:
    """The name of the claim's own parts."""
    return "In this reading" if claim["reading"] else "As stated"


def tagged(claim: dict[str, Any]) -> str:
    """The verdict, marked if the claim is not the paper's."""
    return badge(claim) if claim["source"] == "paper" else f"{badge(claim)} ({claim['source']})"


def folded(latex: str) -> str:
    """Words under which a distribution of more than six cases is folded; empty for a shorter one."""
    cases = latex.count(r"\\") + 1
    return f"The whole distribution, {cases} lines" if cases > _CASES else ""


def asked(claim: dict[str, Any]) -> str:
    """The kind of a claim that is no paper's, as a heading."""
    if claim["source"] == "damaged conversion":
        return "Readings of a damaged conversion of a paper"
    return "Programs in floating point" if claim["id"].startswith("FP-") else "Consequences that we quantified"


def counted(report: dict[str, Any]) -> str:
    """The number of claims, and of those that are not the papers' own."""
    others = report["not_the_papers"]
    own = len(report["claims"]) - others
    counted = f"{own} claim{'' if own == 1 else 's'}"
    if not others:
        return counted
    if not own:
        return f"{others} claim{'' if others == 1 else 's'} of no paper"
    kinds = "readings of a damaged conversion, quantifications of ours"
    return f"{counted}, and {others} that {'is' if others == 1 else 'are'} not the paper's ({kinds})"


def formal(part: dict[str, Any]) -> str:
    """The formal statement: quantifier, domain, relation."""
    relation = _related(part["left"], part["relation"], part["right"])
    if "written" in part:
        source = part["written"]
        relation = f"{_related(source['left'], part['relation'], source['right'])}, that is {relation}{_compared(part)}"
    return quantified(part) + relation + _given(part.get("written", part))


def typeset(part: dict[str, Any]) -> list[str]:
    """The relation in LaTeX: as it was written, and as it was rewritten; none of what is too long to read."""
    pairs = [(one["left"], one["right"]) for one in (part.get("written"), part) if one is not None]
    if any(len(left) + len(right) > LONG_FORM for left, right in pairs):
        return []
    sign = notation.typeset_relation(part["relation"])
    return [f"{notation.typeset(left)} {sign} {notation.typeset(right)}" for left, right in pairs]


def quantified(part: dict[str, Any]) -> str:
    """For which values of its variables the relation is meant, with a colon; empty without variables."""
    named = part.get("stand_for", {})
    links = [{"exp_of": text} if (text := _exponent(named.get(one["name"]))) else {} for one in part["variables"]]
    each = [{**one, **link} for one, link in zip(part["variables"], links, strict=True)]
    domains = [domain(variable) for variable in each if variable["name"] != part.get("constant")]
    if not part["variables"]:
        return ""
    if part["quantifier"] == "one constant for all":
        return f"one {part['constant']} > 0 does for all {', '.join(domains)}: "
    return f"{part['quantifier']} {', '.join(domains)}: "


def beside(part: dict[str, Any]) -> str:
    """What is said after a typeset relation: how it was rewritten, and where it is meant; may be empty."""
    words = [_compared(part).strip(" ()"), _given(part.get("written", part)).strip(", ")]
    return "; ".join(one for one in words if one)


def _related(left: str, sign: str, right: str) -> str:
    return f"{readable(left)} {notation.relation(sign)} {readable(right)}"


def _given(source: dict[str, Any]) -> str:
    """The premises, as they were written; empty if there are none."""
    found = " and ".join(_related(*one) for one in source.get("given", ()))
    return f", where {found}" if found else ""


def _compared(part: dict[str, Any]) -> str:
    """How what was written was held against what it was rewritten to; empty where nothing was settled."""
    if "compared" not in part:
        return ""
    points = part["compared"]["points"]
    said = f"compared at {points} point{'' if points == 1 else 's'}" if points else "compared at no point"
    return f" (rewritten, {said}{', the same by an identity' if part['compared']['identical'] else ''})"


def domain(variable: dict[str, Any]) -> str:
    """A variable's domain, such as `c - r <= w <= c + r`."""
    name, lower, upper = (notation.name(variable["name"]), variable["lower"], variable["upper"])
    below = "" if lower is None else f"{readable(lower)} {'<' if variable['lower_open'] else '<='} "
    above = "" if upper is None else f" {'<' if variable['upper_open'] else '<='} {readable(upper)}"
    link = f" = {_exponential(variable)}" if "exp_of" in variable else ""
    link = f" = ln({readable(variable['log_of'])})" if "log_of" in variable else link
    whole = " whole" if variable.get("integer") else ""
    return f"{below}{name}{link}{above}{whole}" if below or above or link else f"{name} real"


def _exponent(text: str | None) -> str:
    """What exp(...) is the exponential of."""
    return text[len("exp(") : -1] if text else ""


def _exponential(variable: dict[str, Any]) -> str:
    return readable(f"exp({variable['exp_of']})")


def where(mechanism: dict[str, Any]) -> str:
    """The private and the public variables of a mechanism, and their domains."""
    named = [f"{what}: {', '.join(mechanism[what])}" for what in ("private", "public") if mechanism[what]]
    return f"{'; '.join(named)[:1].upper()}{'; '.join(named)[1:]}." if named else "It has no variables."


def explain(part: dict[str, Any]) -> str:
    """What the evidence of a part shows, in one or two lines."""
    evidence = part["evidence"]
    return _EXPLANATIONS[evidence["kind"]](part, evidence)


def counterexample(claim: dict[str, Any]) -> str:
    """The first refuted part in a sentence that can be checked by hand; empty if none is refuted."""
    refuted = [part for part in claim["evidence"]["parts"] if part["verdict"] == "REFUTED"]
    if not refuted:
        return ""
    about = "" if "sides" in refuted[0] or not refuted[0]["label"] else f" (Of: {refuted[0]['label']}.)"
    return explain(refuted[0]) + about


def _at_a_point(part: dict[str, Any], evidence: dict[str, Any]) -> str:
    point = evidence.get("point", {})
    links = {v["name"]: _exponential(v) for v in part["variables"] if "exp_of" in v}
    links |= {name: readable(text) for name, text in part.get("stand_for", {}).items()}
    left, right = evidence["left"], evidence["right"]
    holds = evidence["kind"] == "example" or part["verdict"] == "PROVED"
    said, used = _sides(part, left, right, point) if not holds else ("", set())
    others = [
        f"{links.get(name, notation.name(name))} = {number}" for name, number in point.items() if name not in used
    ]
    where = f"at {', '.join(others)}, " if others else ""
    if not said:
        word = "as it should be" if holds else f"claimed {_CLAIMED[part['relation']]}"
        said = f"the left side is {_number(left)} and the right side {_number(right)}; {word}"
        if holds:
            said = f"{_number(left)} {notation.relation(part['relation'])} {_number(right)}"
    sentence = f"{where}{said}."
    return sentence[:1].upper() + sentence[1:] if sentence.split(" ")[0].isalpha() else sentence


_CLAIMED = {
    "<=": "the left is at most the right",
    "<": "the left is less than the right",
    "==": "they are equal",
    "!=": "they differ",
}
_BOUND = {"<=": "at most ", "<": "less than ", "==": "", "!=": "another number than "}


def _sides(part: dict[str, Any], left: Any, right: Any, point: dict[str, str]) -> tuple[str, set[str]]:
    """What the two numbers are, as far as that is known, and the variables whose values the words have."""
    sides = part.get("sides")
    if sides is None:
        return "", set()
    if "factor" not in sides:
        bound = f"{_BOUND[part['relation']]}{sides['right']}{', which is ' if sides['right'] else ''}{_number(right)}"
        return f"{_valued(sides['left'], point)[0]} is {_number(left)}; claimed {bound}", set()
    factor = notation.at_point(sides["factor"], point)
    if not (factor and isinstance(left, str) and isinstance(right, str)):
        return "", set()
    likely, rare = Fraction(left), Fraction(right) / factor
    (one, used), (other, more) = (_valued(sides[side], point) for side in ("left", "right"))
    ratio = f"ratio {likely / rare}, claimed {_BOUND[part['relation']]}{factor}" if rare else "no ratio is large enough"
    return f"{_words(sides['of'])} {likely} on {one} and {rare} on {other}: {ratio}", used | more


def _words(text: str) -> str:
    """Words with an expression in them."""
    return text.replace("**", "^").replace("*", " ").replace("_prime", "'")


def _valued(words: str, point: dict[str, str]) -> tuple[str, set[str]]:
    """The words with the values of the variables that they name, and those variables."""
    used = {name for name in point if re.search(rf"\b{name}\b", words)} if words.startswith("input ") else set()
    for name in used:
        words = re.sub(rf"\b{name}\b", point[name], words)
    return words, used


def _form(part: dict[str, Any], evidence: dict[str, Any]) -> str:
    if part["left"] == part["right"]:
        return "Both sides are the same expression, once it is worked out as it was written."
    if evidence["gap"] == "0":
        return "right - left expands to 0."
    sides = "right - left" if part["relation"] != "!=" else "right - left, or its negative,"
    return f"{sides} = {_short(evidence['gap'])}{_where(part, evidence)}"


def _halves(part: dict[str, Any], evidence: dict[str, Any]) -> str:
    boxes = _boxes(evidence)
    if boxes:
        return f"{boxes} boxes cover the domain, cut at rational points. {_ON_A_BOX}"
    name, at = evidence["variable"], evidence["at"]
    whole = any(v["name"] == name and v.get("integer") for v in part["variables"]) and at.lstrip("-").isdecimal()
    onwards = str(int(at) + 1) if whole else at
    below = explain({**_cut(part, name, "upper", at), "evidence": evidence["below"]})
    above = explain({**_cut(part, name, "lower", onwards), "evidence": evidence["above"]})
    return f"For {name} <= {at}: {below} For {name} >= {onwards}: {above}"


def _cut(part: dict[str, Any], name: str, side: str, at: str) -> dict[str, Any]:
    """The part with another end of a variable."""
    ends = {side: at, f"{side}_open": False}
    return {**part, "variables": [{**v, **ends} if v["name"] == name else v for v in part["variables"]]}


_ON_A_BOX = "On each, outward-rounded arithmetic keeps the two sides apart."


def _boxes(evidence: dict[str, Any]) -> int:
    """The number of boxes in a cover; 0 if it contains another proof."""
    if evidence["kind"] == "halves":
        below, above = _boxes(evidence["below"]), _boxes(evidence["above"])
        return below + above if below and above else 0
    if evidence["kind"] == "cases":
        single = [_boxes(proof) for proof in evidence["proofs"].values()]
        return sum(single) if all(single) else 0
    return int(evidence["kind"] == "box")


def _box(_part: dict[str, Any], _evidence: dict[str, Any]) -> str:
    return "Outward-rounded arithmetic over the whole domain at once keeps the two sides apart."


def cases(part: dict[str, Any]) -> list[tuple[str, str]]:
    """Of a proof by the values of a variable, each value and what is shown of it; empty for another."""
    evidence = part["evidence"]
    if evidence["kind"] != "cases":
        return []
    return [(value, explain({**part, "evidence": proof})) for value, proof in evidence["proofs"].items()]


def _cases(part: dict[str, Any], evidence: dict[str, Any]) -> str:
    name, proofs = evidence["variable"], evidence["proofs"]
    shown = list(proofs.items())[:2]
    each = " ".join(f"{name} = {number}: {explain({**part, 'evidence': proof})}" for number, proof in shown)
    rest = f" And so on for all {len(proofs)} values." if len(proofs) > len(shown) else ""
    return f"Value by value. {each}{rest}"


def _denial(part: dict[str, Any], evidence: dict[str, Any]) -> str:
    denied = {"==": "!=", "!=": "==", "<=": ">", "<": ">="}[part["relation"]]
    sides = {"<=": ("right", "<", "left"), "<": ("right", "<=", "left")}.get(
        part["relation"], ("left", denied, "right")
    )
    proof = explain({**part, "relation": sides[1], "evidence": evidence["proof"]})
    if sides[0] == "right":
        proof = proof.replace("right - left", "left - right", 1)
    return f"Everywhere {' '.join(sides)}: {proof}"


def _constant(part: dict[str, Any], evidence: dict[str, Any]) -> str:
    proof = explain({**part, "evidence": evidence["proof"]})
    return f"{part['constant']} = {evidence['constant']} does: {proof}"


def _escape(part: dict[str, Any], evidence: dict[str, Any]) -> str:
    path = ", ".join(f"{name} = {where}" for name, where in evidence["path"].items())
    proof = explain({**part, "relation": "<", "evidence": evidence["proof"]}).replace("right - left", "left - right", 1)
    return f"No {part['constant']} does: take {path}; there left > right for every {part['constant']} > 0, as {proof}"


def _rise(part: dict[str, Any], evidence: dict[str, Any]) -> str:
    variable, start, slope = evidence["variable"], evidence["start"], evidence["slope"]
    end, turn = ("upper", "downwards ") if evidence["from"] == "upper" else ("lower", "")
    times = "" if evidence["factor"] == "1" else f"{evidence['factor']}, which is positive, times "
    inner = {**part, "left": "0", "relation": slope["relation"], "right": slope["function"], "evidence": slope["proof"]}
    return (
        f"right - left = {times}f = {_short(evidence['function'])}. At the {end} end of {variable}, f is "
        f"{_short(start['function'])}, where 0 {start['relation']} f; its derivative by {variable} {turn}is "
        f"{_short(slope['function'])}, where 0 {slope['relation']} it everywhere: "
        f"{explain(inner)}"
    )


def _terms(part: dict[str, Any], evidence: dict[str, Any]) -> str:
    letters = [{"name": name, **read} for name, read in evidence["letters"].items()]
    named = "; ".join(f"{one['is']} is {domain(one)}" for one in letters)
    proof = explain({**part, "variables": [*part["variables"], *letters], "evidence": evidence["proof"]})
    return f"For all values between these ends ({named}): {proof}"


def _induction(part: dict[str, Any], evidence: dict[str, Any]) -> str:
    n, powers = evidence["variable"], evidence["powers"]
    named = "; ".join(f"{name} = ({read['base']})**{n}" for name, read in powers.items())
    letters = [{"name": name, **read} for name, read in powers.items()]
    start = explain({**part, "evidence": evidence["start"]})
    assumed = [[f"the left side at {n}", part["relation"], f"the right side at {n}"]]
    here = {**part, "variables": [*part["variables"], *letters], "given": assumed}
    step = explain({**here, "evidence": evidence["step"]})
    known = f" (with {named})" if named else ""
    return f"By induction on {n}. At its first value: {start} At {n} + 1, given that it holds at {n}{known}: {step}"


def _root(_part: dict[str, Any], evidence: dict[str, Any]) -> str:
    others = ", ".join(f"{name} = {number}" for name, number in evidence["point"].items())
    low, high = evidence["between"]
    with_others = f", with {others}" if others else ""
    return (
        f"Both sides are equal at a {evidence['variable']} between {low} and {high}{with_others}: there "
        f"{_short(evidence['factor'])}, a factor of right - left, changes its sign."
    )


def _part_of_the_domain(part: dict[str, Any], evidence: dict[str, Any]) -> str:
    name = evidence["variable"]
    proof = explain({**part, "evidence": evidence["proof"]}).replace("right - left", "left - right", 1)
    return f"It fails wherever {name} = {evidence['inside'][name]}: there {proof}"


def _smt(_part: dict[str, Any], evidence: dict[str, Any]) -> str:
    return f"{evidence['solver']} finds no point that violates it; there is no proof that the checker could follow."


def _undecided(_part: dict[str, Any], evidence: dict[str, Any]) -> str:
    return f"Not settled: {evidence['reason'] or 'no engine applies'}."


_EXPLANATIONS = {
    "counterexample": _at_a_point,
    "example": _at_a_point,
    "value": _at_a_point,
    "identity": _form,
    "certificate": _form,
    "halves": _halves,
    "box": _box,
    "cases": _cases,
    "denial": _denial,
    "constant": _constant,
    "escape": _escape,
    "rise": _rise,
    "terms": _terms,
    "induction": _induction,
    "root": _root,
    "part": _part_of_the_domain,
    "smt": _smt,
    "undecided": _undecided,
}


def _where(part: dict[str, Any], evidence: dict[str, Any]) -> str:
    """The meaning of a form's slacks, and the reason for its sign."""
    used = dict.fromkeys(re.findall(r"\b(?:lo|hi)_\w+", evidence["gap"]))
    meanings = [_slack(name, part, evidence) for name in used]
    known = f", where {'; '.join(meanings)}" if meanings else ""
    return f"{known}. Nothing in it is negative."


def _slack(name: str, part: dict[str, Any], evidence: dict[str, Any]) -> str:
    side, variable = name[:2], next((v for v in part["variables"] if v["name"] == name[3:]), None)
    given = re.fullmatch(r"lo_given_(\d+)", name)
    if given is not None and int(given[1]) < len(part.get("given", ())):
        left, relation, right = part["given"][int(given[1])]
        return f"{name} = {right} - ({left}) {'>' if relation == '<' else '>='} 0"
    if variable is None:
        return f"{name} >= 0"
    if "log_of" in variable:
        bound = (
            f"{variable['name']} - 1 + 1/({variable['log_of']})"
            if side == "lo"
            else f"{variable['log_of']} - 1 - {variable['name']}"
        )
        return f"{name} = {bound} >= 0"
    if "taylor" in evidence and ("exp_of" in variable or "lower" not in variable):
        degree = evidence["taylor"]
        if side == "hi":
            inverse = f"the Taylor polynomial of 1/{variable['name']} of degree {degree}"
            return f"{name} = 1 - {variable['name']} times {inverse} >= 0"
        return f"{name} = {variable['name']} less its Taylor polynomial of degree {degree} >= 0"
    bare = re.fullmatch(r"[\w.]+", variable["lower" if side == "lo" else "upper"] or "")
    end = variable["lower" if side == "lo" else "upper"]
    shown = end if bare else f"({end})"
    is_open = variable["lower_open" if side == "lo" else "upper_open"]
    difference = f"{variable['name']} - {shown}" if side == "lo" else f"{end} - {variable['name']}"
    difference = variable["name"] if difference.endswith(" - 0") else difference
    return f"{name} = {difference} {'>' if is_open else '>='} 0"


def _number(written: str | list[str]) -> str:
    return written if isinstance(written, str) else f"{written[0]}..."


def _short(form: str) -> str:
    form = readable(form)
    return form if len(form) <= LONG_FORM else f"{form[:LONG_FORM]} ... ({len(form)} characters, whole in report.json)"
