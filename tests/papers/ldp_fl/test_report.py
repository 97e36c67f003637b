"""The core's tests of a paper's report, on the report of LDP-FL: more claims, and evidence of more kinds."""

from __future__ import annotations

from tests.claims.test_recheck import (  # noqa: F401
    is_counted,
    test_missing_evidence_is_refused,
    test_the_report_of_a_paper_is_verified_whole,
)
from tests.reports.test_figures import (  # noqa: F401
    test_each_figure_is_valid_labelled_and_repeatable,
    test_no_legend_stands_over_a_curve,
)
from tests.reports.test_html import (  # noqa: F401
    test_each_verdict_and_each_counterexample_is_on_the_page,
    test_equal_reports_give_equal_pages,
    test_every_claim_has_its_article_and_every_link_its_target,
    test_headings_do_not_skip_a_level,
    test_nothing_is_loaded_from_anywhere,
)
from tests.reports.test_markdown import (  # noqa: F401
    test_every_claim_verdict_and_piece_of_evidence_is_there,
    test_what_is_not_the_papers_own_is_counted_apart,
)
from tests.reports.test_schema import test_every_key_of_a_report_is_described  # noqa: F401
from tests.reports.test_write import test_every_file_of_the_report_is_made  # noqa: F401


def test_it_has_claims_that_the_checker_counts_word_by_word(paper_report: dict) -> None:
    assert any(map(is_counted, paper_report["claims"]))


def test_the_readings_of_a_damaged_conversion_are_counted_apart(paper_report: dict) -> None:
    others = [claim for claim in paper_report["claims"] if claim["source"] != "paper"]
    assert len(others) >= 11
    assert sum(claim["source"] == "damaged conversion" for claim in others) == 2
    assert paper_report["summary"]["REFUTED"] == 7
