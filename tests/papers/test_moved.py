"""What has moved into a paper's folder can be imported under its earlier name, as what has moved in the core."""

from __future__ import annotations

from ldp_audit.moved import MOVED
from tests.meta.test_imports import assert_moved
from tests.together import together


@together("earlier", [one for one in MOVED if MOVED[one].startswith("ldp_audit.papers.")])
def test_a_moved_module_is_imported_under_its_earlier_name_with_a_warning(earlier: str) -> None:
    assert_moved(earlier)
