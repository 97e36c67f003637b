"""FedMD-NFDP, Tables 2 to 4: the origin of their numbers, their significance, and their consistency."""

from sympy import Add, Expr, Mul, Rational, log

from ldp_audit.claims.as_written import difference
from ldp_audit.claims.claim import Claim, Correction, Reading
from ldp_audit.claims.language.statement import Quantities, Statement, at_most, equal, less, prints_as
from ldp_audit.papers.fedmd_nfdp.claims.symbols import DELTA_WITH, DELTA_WITHOUT, EPSILON_WITH, put
from ldp_audit.papers.fedmd_nfdp.claims.table_2 import (
    TABLE_2,
    draws_behind,
    follows,
    printed_by,
    table_2_cells,
    table_2_explanations,
)

NOT_PRIVATE = {"FEMNIST": "96.15", "CIFAR-10": "86.88"}
"""Table 2, FedMD-NP."""

TABLE_3 = {  # (private data, parties): accuracy in percent by logits, softmax, argmax
    ("FEMNIST", 5): ("74.99", "75.02", "75.58"),
    ("FEMNIST", 10): ("80.74", "80.64", "81.58"),
    ("CIFAR-10", 5): ("69.79", "70.02", "70.01"),
    ("CIFAR-10", 10): ("74.55", "74.88", "75.12"),
}


def table_2_epsilon() -> Claim:
    return Claim(
        id="NF-TAB2ln",
        name="printed epsilons",
        place="Table 2, column epsilon, against Theorem 2 and Definition 1",
        says="Table 2's epsilon is Theorem 2's, k ln((n+1)/n).",
        latex=r"\varepsilon=k\ln\frac{n+1}n",
        parts=tuple(
            prints_as(put(EPSILON_WITH, n, k), epsilon, f"{data}, n = {n}, k = {k}: rounds to {epsilon}")
            for (data, n, k), (epsilon, _, _) in TABLE_2.items()
        ),
        another=Reading(
            "With the decimal logarithm, as no base is named in what is left of the theorem.",
            tuple(
                prints_as(
                    Mul(put(EPSILON_WITH, n, k), 1 / log(10), evaluate=False),
                    epsilon,
                    f"{data}, n = {n}, k = {k}: rounds to {epsilon}",
                )
                for (data, n, k), (epsilon, _, _) in TABLE_2.items()
            ),
        ),
        corrected=Correction(
            "By Theorem 2, whose e^epsilon needs the natural logarithm, the printed k give these; the table has the decimal "
            "logarithm (NF-TAB2log10), smaller by the factor ln 10 = 2.302585.",
            r"k\ln\frac{n+1}n=\ln10\cdot k\log_{10}\frac{n+1}n,\qquad\ln10=2.302585\ldots",
            tuple(
                prints_as(put(EPSILON_WITH, n, k), epsilon, f"{data}, n = {n}, k = {k}: {epsilon}")
                for (data, n, k), epsilon in zip(
                    TABLE_2,
                    ("0.0056", "0.0208", "0.1041", "0.9998", "0.0532", "0.1997", "0.3993", "0.9983"),
                    strict=True,
                )
            ),
        ),
        looked="Section 4, Theorem 2 and its proof (their formulas are lost in the conversion and restored), Definition 1, Section 5.2, "
        "Table 2 and its header. With the decimal logarithm the rows with k = 16 still differ; with any k, base and number of records: "
        "NF-TAB2log10.",
    )


def table_2_decimal() -> Claim:
    best, *others = table_2_explanations()
    first, other_k = table_2_cells()[0], sorted(best.rivals[16])
    return Claim(
        id="NF-TAB2log10",
        name="formula of the printed budgets",
        place="Table 2, columns epsilon and delta",
        says=f"Table 2's epsilon and delta are those of {best.settings[first.name]['formula']}, as a search finds: {best.words()}.",
        parts=tuple(statement for cell in table_2_cells() for statement in follows(best, cell)),
        argument=f"{len(others) + 1} explanations were ranked, each with its best k, from a family of {best.tried:.1e} settings: "
        "Theorem 1 or 2; logarithm to the base e, 10 or 2; n, n - 1, n + 1 or 10 n; for each printed k every k up to 60 and the "
        f"printed one's neighbours; each column rounded or cut off. The next best: {others[0].words()}. Where 16 is printed "
        + (
            f"k = {', '.join(map(str, other_k))} would do as well. "
            if other_k
            else "no other k explains as many numbers. "
        )
        + f"Random digits do as well with a probability of at most {best.chance():.0e}. What the authors did is not known: three "
        "records of each of six classes would make k = 18.",
        source="derived",
    )


def table_2_draws() -> Claim:
    rows = {key: row for key, row in TABLE_2.items() if key[2] == 16}
    right = {2880: ("0.0024", "0.0055"), 300: ("0.0231", "0.0520")}
    used = draws_behind("FEMNIST", 2880, 16)

    def row(data: str, n: int, k: int, printed: tuple[str, ...]) -> tuple[Statement, ...]:
        decimal = Mul(put(EPSILON_WITH, n, k), 1 / log(10), evaluate=False)
        return (
            prints_as(decimal, printed[0], f"{data}, n = {n}, k = {k}: epsilon rounds to {printed[0]}"),
            prints_as(put(DELTA_WITH, n, k), printed[1], f"{data}, n = {n}, k = {k}: delta rounds to {printed[1]}"),
        )

    return Claim(
        id="NF-TAB2k",
        name="printed budgets for k = 16",
        place="Table 2, the rows with k = 16",
        says="The rows with k = 16 are Theorem 2 at k = 16, with the decimal logarithm that the other rows have.",
        latex=r"\varepsilon=16\log_{10}\frac{n+1}n,\qquad\delta=1-\Bigl(\frac{n-1}n\Bigr)^{16}",
        parts=tuple(part for (data, n, k), printed in rows.items() for part in row(data, n, k, printed)),
        corrected=Correction(
            "k = 16 gives epsilon 0.0024 and delta 0.0055 (n = 2880), 0.0231 and 0.0520 (n = 300). "
            f"k = {used} gives what is printed.",
            r"k=16:\quad(\varepsilon,\delta)=(0.0024,\ 0.0055)\ \ (n=2880),\quad(0.0231,\ 0.0520)\ \ (n=300)",
            (
                *(part for data, n, k in rows for part in row(data, n, k, right[n])),
                *(part for (data, n, _), printed in rows.items() for part in row(data, n, used, printed)),
            ),
        ),
        another=Reading(
            "Of Theorem 1, sampling without replacement, whose delta is k/n.",
            tuple(
                prints_as(
                    put(DELTA_WITHOUT, n, k), printed[1], f"{data}, n = {n}, k = {k}: delta rounds to {printed[1]}"
                )
                for (data, n, k), printed in rows.items()
            ),
        ),
        looked="Table 2 and its header, Section 5.2 (its k, and three points a party for Fig. 2), Section 5 (six classes), the text on "
        "Table 4 and the appendix: no k is named for these rows but the printed one. A search over theorems, bases, n and k finds no "
        "other k (NF-TAB2log10). The accuracies of these rows are not in question.",
    )


def table_2_rounding() -> Claim:
    rows = [(data, n, draws_behind(data, n, k), delta) for (data, n, k), (_, delta, _) in TABLE_2.items()]
    return Claim(
        id="NF-TAB2round",
        name="rounding of the printed deltas",
        place="Table 2, column delta (with the k that NF-TAB2log10 finds)",
        says="The deltas are rounded to the nearest in the fourth place.",
        parts=tuple(
            prints_as(put(DELTA_WITH, n, k), delta, f"{data}, n = {n}, k = {k}: rounds to {delta}")
            for data, n, k, delta in rows
        ),
        corrected=Correction(
            "0.63218 is printed as 0.6321. All eight are what is left when the digits after the fourth are cut off.",
            parts=tuple(
                statement
                for data, n, k, delta in rows
                for statement in printed_by("cut off", put(DELTA_WITH, n, k), delta, f"{data}, n = {n}, k = {k}")
            ),
        ),
        source="derived",
    )


def small_numbers() -> Claim:
    whole = (2880, "0.63218"), (300, "0.63273")
    return Claim(
        id="NF-VAC",
        name="strength of the printed budgets",
        place="Section 5.2 with Table 2: strong privacy protection, a very small (epsilon, delta)",
        says="Table 2's pairs are small (here: epsilon at most 1/2 and delta below 1), and so protect the records strongly.",
        latex=r"\varepsilon\le0.4342,\qquad\delta\le0.6327",
        parts=tuple(
            statement
            for (data, n, k), (epsilon, delta, _) in TABLE_2.items()
            for statement in (
                at_most(Rational(epsilon), Rational(1, 2), f"{data}, n = {n}, k = {k}: epsilon"),
                less(Rational(delta), 1, f"{data}, n = {n}, k = {k}: delta"),
            )
        ),
        void=(
            *(
                less(
                    17,
                    n * Rational(delta),
                    f"{data}, n = {n}, k = {k}: delta n is above 17; it would have to be far below 1",
                )
                for (data, n, k), (_, delta, _) in TABLE_2.items()
            ),
            *(
                prints_as(
                    put(DELTA_WITH, n, n), shown, f"k = n = {n}: a record is in the sample with probability {shown}"
                )
                for n, shown in whole
            ),
        ),
        corrected=Correction(
            "Delta is the chance that a record is in the sample, and the records in the sample have no protection at all: "
            "delta n, from 17 to 1820, is how many different ones are expected there. Publishing them as they are would have "
            "the same guarantee.",
            r"n\,\delta=\mathbb E[\text{different records in the sample}]",
            (
                prints_as(2880 * Rational("0.6321"), "1820", "the largest, n = k = 2880"),
                prints_as(300 * Rational("0.0583"), "17", "the smallest, n = 300, k = 16 as printed"),
            ),
        ),
        looked="Sections 1, 2 (what delta is for), 4, 5.2 and 6 (limitations), Table 2: delta is nowhere compared with 1/n. The words, a "
        "strong protection and a small pair, admit no other formal reading in which the records of the sample are protected.",
        rests_on=("NF-FLAT and NF-MIA for what delta means here",),
    )


def larger_budget() -> Claim:
    rows = {key: row for key, row in TABLE_2.items() if key[1] == key[2]}
    return Claim(
        id="NF-OUT",
        name="accuracy at larger budgets",
        place="Section 5.2, comparison with baselines, against Table 2",
        says="With a larger privacy budget FedMD-NFDP can outperform FedMD-NP.",
        parts=tuple(
            less(
                Rational(NOT_PRIVATE[data]), Rational(row[2]), f"{data}, k = n = {n}: {NOT_PRIVATE[data]}% < {row[2]}%"
            )
            for (data, n, _), row in rows.items()
        ),
        corrected=Correction(
            "It does so at k = n alone, where delta is 0.632: nearly two thirds of the records are in the released sample.",
            parts=tuple(
                at_most(Rational(row[2]), Rational(NOT_PRIVATE[data]), f"{data}, k = {k}: it does not")
                for (data, n, k), row in TABLE_2.items()
                if k < n
            ),
        ),
    )


def distillation() -> Claim:
    rows = {f"{data}, N = {parties}": tuple(map(Rational, row)) for (data, parties), row in TABLE_3.items()}
    return Claim(
        id="NF-TAB3",
        name="accuracy of argmax distillation",
        place="Section 5.2, distillation approaches, against Table 3",
        says="Argmax shows a slightly better accuracy than logits and softmax.",
        reading="On the whole: on average over the four rows.",
        parts=tuple(
            less(sum(row[i] for row in rows.values()), sum(row[2] for row in rows.values()), f"average: {name}")
            for i, name in ((0, "logits"), (1, "softmax"))
        ),
        another=Reading(
            "The words, strictly.",
            tuple(
                less(other, argmax, f"row by row, {where}: argmax above {name}")
                for where, (logits, softmax, argmax) in rows.items()
                for name, other in (("logits", logits), ("softmax", softmax))
            ),
        ),
        corrected=Correction(
            "And in three of the four rows. In the fourth, CIFAR-10 with N = 5, softmax has 70.02% and argmax 70.01%.",
            parts=(
                less(rows["CIFAR-10, N = 5"][2], rows["CIFAR-10, N = 5"][1], "CIFAR-10, N = 5: softmax above argmax"),
            ),
        ),
        looked="Section 5.2, which says of Table 3 that the approaches do not differ much in general.",
    )


def same_configuration() -> Claim:
    def agrees(data: str) -> Expr:
        printed = Rational(TABLE_2[data, {"FEMNIST": 2880, "CIFAR-10": 300}[data], 16][2])
        gaps = [Add(printed, -Rational(other), evaluate=False) for other in TABLE_3[data, 10]]
        return Mul(*gaps, evaluate=False)

    cifar = Rational("74.40")
    return Claim(
        id="NF-TAB23",
        name="agreement of Tables 2 and 3",
        place="Table 2 (smallest k) against Table 3 (N = 10)",
        says="The accuracy that Table 2 has for the smallest k is one of Table 3's for ten parties: logits, softmax or argmax.",
        parts=(
            equal(
                agrees("FEMNIST"),
                0,
                "FEMNIST: 80.64% is one of 80.74%, 80.64%, 81.58%",
                sides=Quantities("the product of its distances from Table 3's"),
            ),
            equal(
                agrees("CIFAR-10"),
                0,
                "CIFAR-10: 74.40% is one of 74.55%, 74.88%, 75.12%",
                sides=Quantities("the product of its distances from Table 3's"),
            ),
        ),
        corrected=Correction(
            "FEMNIST's 80.64% is Table 3's softmax; CIFAR-10's 74.40% is 0.15 points below the nearest.",
            parts=(
                equal(
                    difference(Rational(TABLE_2["FEMNIST", 2880, 16][2]), Rational(TABLE_3["FEMNIST", 10][1])),
                    0,
                    "FEMNIST: softmax",
                ),
                *(
                    at_most(Rational("0.15"), difference(Rational(other), cifar), "CIFAR-10: 0.15 points or more")
                    for other in TABLE_3["CIFAR-10", 10]
                ),
            ),
        ),
        assumptions=(
            "Table 3 has Table 2's smallest k; its caption is lost in the conversion, and two runs may differ by chance",
        ),
        source="derived",
    )


CLAIMS = {
    "NF-TAB2ln": table_2_epsilon,
    "NF-TAB2log10": table_2_decimal,
    "NF-TAB2k": table_2_draws,
    "NF-TAB2round": table_2_rounding,
    "NF-VAC": small_numbers,
    "NF-OUT": larger_budget,
    "NF-TAB3": distillation,
    "NF-TAB23": same_configuration,
}
