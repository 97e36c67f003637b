"""The shipped papers: each claim's verdict, what the checker says of its evidence, and its correction."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ldp_audit.claims.loading import load_paper, paper_keys
from ldp_audit.claims.verdict import Verdict
from ldp_audit.reports.mathematics import mathml
from tests.papers.conftest import SettledPaper

VERDICTS = {
    "ldp-fl": {
        "PROVED": (
            "DEF-POINT LF-DEF2 LF-EQ2a LF-EQ2b LF-EQ2c LF-RVAR LF-CROWD LF-T1 LF-L1 LF-L1samp LF-E6 LF-L3 LF-E7 "
            "LF-L3n LF-E9a LF-E9b LF-E9O LF-T2 LF-C1 LF-RBIAS LF-RANGE2 LF-POST LF-COMP LF-SEQ LF-ERL LF-SIGNAL "
            "LF-NEED LF-FOUND LF-TIMEcont LF-TIME LF-TIMEneg LF-CLDP LF-TAB1c"
        ),
        "PROSE": "LF-CLIP LF-RFEED LF-ANON LF-CMP LF-TAB1b LF-FMN",
        "REFUTED": (
            "LF-L1clip LF-L2 LF-C1ocrU LF-C1ocrL LF-EPSINF LF-MODEL LF-UNLINK LF-AMPdom LF-CURSE LF-SHUF "
            "LF-EPSTOT LF-TAB1 FP-32 FP-CENTRE FP-53 FP-LAPLACE FP-LAPLACE53 FP-PM FP-GAUSS"
        ),
        "CONDITIONAL": "LF-RANGE LF-RLINK",
        "ENUMERATED": "LF-MEMBER LF-TIMElink LF-T0 LF-MEDIAN FP-DTYPE",
        "UNDECIDED": "LF-ACC",
    },
    "fedsel": {
        "PROVED": (
            "FS-D2 FS-TIES FS-CLIP FS-T31 FS-EPOCH FS-MUB FS-T32 FS-T32mix FS-L1 FS-EXPprop FS-L2excess FS-L2k "
            "FS-L2mono FS-L2cal FS-L2c FS-L2bot FS-L2bits FS-L2like FS-L3 FS-PSopt FS-EXPtop FS-FLAT FS-E2 "
            "FS-E2noise FS-PIJ FS-ZETA FS-TAB1 FS-SNR FS-MU FS-MUsmall FS-TIME FS-LDPV FS-VAL FS-TAB3"
        ),
        "PROSE": "FS-D3 FS-RP FS-RPiso",
        "REFUTED": (
            "FS-T31pe FS-T32eq FS-T32gen FS-T32mse FS-L1lit FS-L1d1 FS-L2 FS-L2sum FS-NPK FS-T41 FS-BATCH FS-BIAS "
            "FS-MUopt"
        ),
        "UNDECIDED": "FS-ACC",
    },
    "fedmd-nfdp": {
        "PROSE": "NF-LDPname NF-BALLE NF-MUCH NF-LDPorder",
        "PROVED": (
            "NF-T1 NF-T2 NF-PRF NF-L1 NF-L1ind NF-TAB2log10 NF-FIG2 NF-PARTY NF-POST NF-MIA NF-OUT NF-TAB3 "
            "NF-LDPnoise NF-KN"
        ),
        "VACUOUS": "NF-FLAT NF-VAC",
        "REFUTED": "NF-TAB2ln NF-TAB2k NF-TAB2round NF-TAB23",
        "UNDECIDED": "NF-ACC",
    },
    "wang": {
        "PROVED": (
            "WG-DUCHI WG-PM WG-PMworst WG-PMdom WG-PMvsDuchi1 WG-CROSS WG-HMstar WG-HM WG-HMldp WG-HMopt WG-HMpm "
            "WG-DUCHIdfix"
        ),
        "REFUTED": "WG-DUCHId",
        "ENUMERATED": "WG-MULTI",
    },
    "own": {
        "PROVED": ("PR-DUCHI PR-RR PR-PM PR-LAP FP-LOW FP-SAFE FP-OVER BD-MOVE BD-CHORD BD-CHERN BD-STRIP BD-BET"),
        "ENUMERATED": "PR-SEL PR-EXP",
        "PROSE": "PR-GAUSS",
    },
}
"""From the inventory of each paper: its claims by verdict.

FS-T31pe and FS-MUsmall are second readings of FS-T31 and FS-MUopt.
"""


@pytest.mark.parametrize("key", paper_keys())
def test_the_engines_reach_the_verdicts(key: str, settled_paper: SettledPaper) -> None:
    """On each claim of the inventory and no other; no proof rests on the solver alone."""
    settled = {one.claim.id: one for one in settled_paper(key)}
    expected = {name: verdict for verdict, names in VERDICTS[key].items() for name in names.split()}
    assert {name: str(one.verdict) for name, one in settled.items()} == expected
    parts = [(name, part) for name, one in settled.items() for part in one.all_parts()]
    assert [name for name, part in parts if part.engine == "smt"] == []


@pytest.mark.parametrize("key", paper_keys())
def test_whatever_is_refuted_has_a_correction_that_is_proved_or_an_argument(
    key: str, settled_paper: SettledPaper
) -> None:
    settled = settled_paper(key)
    assert {one.correction_verdict() for one in settled} <= {None, Verdict.PROVED}
    refuted = [one for one in settled if one.verdict is Verdict.REFUTED]
    assert [one.claim.id for one in refuted if one.correction_verdict() is None and not one.claim.argument] == []


@pytest.mark.parametrize("key", paper_keys())
def test_every_claim_has_a_name_of_its_own(key: str) -> None:
    claims = {claim.id: claim.name for claim in load_paper(key).claims}
    assert [id_ for id_, name in claims.items() if not name or id_ in name] == []
    assert len(set(claims.values())) == len(claims)


def test_what_is_ours_is_not_held_against_a_paper(settled_paper: SettledPaper) -> None:
    """Our own claims, readings of ours, and a corollary that a conversion of the file has damaged."""
    sources = {(key, one.claim.id): one.claim.source for key in paper_keys() for one in settled_paper(key)}
    derived = {name for name, source in sources.items() if source == "derived"}
    ours = {"fedsel": "FS-L1d1 FS-NPK FS-BIAS FS-MUopt FS-T32mse", "ldp-fl": "LF-SIGNAL LF-NEED LF-MEMBER LF-FOUND"}
    assert {(key, name) for key, names in ours.items() for name in names.split()} <= derived
    assert {name for name in sources if name[0] == "own"} <= derived
    assert ("fedsel", "FS-L2") not in derived
    damaged = {name for (_, name), source in sources.items() if source == "damaged conversion"}
    assert damaged == {"LF-C1ocrU", "LF-C1ocrL"}


def test_the_readme_counts_the_papers_claims_and_those_that_do_not_hold(settled_paper: SettledPaper) -> None:
    by_paper = {key: [one for one in settled_paper(key) if one.claim.source == "paper"] for key in paper_keys()}
    known = [one for paper in by_paper.values() for one in paper]
    refuted = sum(one.verdict is Verdict.REFUTED for one in known)
    settled = sum(one.verdict not in (Verdict.PROSE, Verdict.UNDECIDED) for one in known)
    counts = (
        r"Of (\d+) claims of (\w+) papers on local privacy and federated learning, (\d+) are\s+settled, "
        r"and (\d+) do not hold"
    )
    found = re.search(counts, (Path(__file__).parents[2] / "README.md").read_text("utf-8"))
    assert found is not None
    assert (int(found[1]), found[2], int(found[3]), int(found[4])) == (
        len(known),
        {4: "four"}[sum(map(bool, by_paper.values()))],
        settled,
        refuted,
    )


@pytest.mark.usefixtures("settled_paper")  # beside the tests that make the papers' statements
def test_every_formula_of_the_papers_is_typeset() -> None:
    """No command is left untranslated."""
    claims = [claim for key in paper_keys() for claim in load_paper(key).claims]
    written = [one.latex for claim in claims for one in (claim, claim.corrected) if one and one.latex]
    typeset = {latex: mathml(latex) for latex in written}
    assert len(typeset) > 100
    assert [latex for latex, element in typeset.items() if not element.startswith("<math ")] == []
    assert [latex for latex, element in typeset.items() if "\\" in element.split(">", 1)[1]] == []


def test_loading_the_papers_makes_none_of_their_statements() -> None:
    """A claim is made when it is asked for: `check --only` would build all others otherwise."""
    made = "made, real = [], Statement.__post_init__; Statement.__post_init__ = lambda one: made.append(real(one))"
    code = "from ldp_audit.claims import Statement; from ldp_audit.claims.loading import load_paper, paper_keys"
    code += f"; {made}; [load_paper(key) for key in paper_keys()]"
    command = [sys.executable, "-c", f"{code}; print(len(made), load_paper('wang').claims[0].id, len(made) > 0)"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0 WG-DUCHI True\n"
