"""LDP-FL's presets have the settings that the paper prints."""

from __future__ import annotations

from ldp_audit.training.ldp_fl.plan import PRESETS


def test_presets_have_the_papers_settings() -> None:
    """Numbers of Section 5 that were copied wrongly."""
    settings = {data: PRESETS.presets[data][0].settings for data in ("mnist", "fmnist", "cifar-10")}
    names = ("n", "rounds", "learning_rate", "ranges", "radius")
    assert [settings["mnist"][name] for name in names] == [100, 10, 0.03, "fixed", 0.075]
    assert [settings["fmnist"][name] for name in names] == [200, 15, 0.03, "fixed", 0.015]
    assert [settings["cifar-10"][name] for name in names] == [500, 15, 0.015, "adaptive", 1.0]
    assert [PRESETS.presets[data][0].varied["epsilon"][0] for data in settings] == [1.0, 4.0, 10.0]
    for table in PRESETS.printed:
        if table["place"] != "Table 1":
            continue
        swept = PRESETS.presets[f"table-1-{table['data'][0]}"][0].varied["epsilon"]
        assert {cell["epsilon"] for cell in table["cells"]} == set(swept)
