"""Evidence of path on the platforms page: which way a known transfer took on each platform.

Layer: report. Reads and writes no file. Counts are those of table `traffic`.
"""

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from commwall.analysis.gaps import rounds_text
from commwall.report.html import Group, Html, bullets, grouped_table, joined, paragraph
from commwall.report.page import Page
from commwall.schema.units import around_text, rate_text, significant, size_text

HEADS = ("platform", "asked for", "known transfer of a rank", "NVLink, share of it", "PCIe sent",
         "PCIe received", "loopback", "NCCL's transports", "launches", "verdict")  # fmt: skip
WORDS = (
    "One row a platform and outcome, over its launches and ranks: median (least to greatest). "
    "Expected bytes are the wire formula's; NVLink counts payload, PCIe and loopback all that "
    "passed meanwhile."
)
ALIKE = ["label", "path_taken", "path_expected", "treatment_taken", "transports", "transfer",
         "expected_bytes"]  # fmt: skip
"""Launches that agree in these stand in one row."""
ABSENT = "not counted"


def traffic_table(page: Page) -> Html:
    """What carried the known transfer on each platform, and whether it is what was asked for."""
    own = page.tables.traffic
    counted = own[own["transfer"].notna() | own["path_taken"].notna()]
    bare = own.drop(counted.index)
    if counted.empty:
        reasons = dict.fromkeys(bare["reason"].dropna()) or ("no record",)
        return paragraph(f"Evidence of path: none, {'; '.join(reasons)}.", "missing")
    rows = [
        ("" if _agrees(launches) else "refused", tuple(_cells(launches)))
        for _, launches in counted.groupby(ALIKE, sort=False, dropna=False)
    ]
    lines = [*_disagreements(counted), *_without(bare)]
    parts = [grouped_table(HEADS, [Group("", rows)], WORDS)]
    return joined([*parts, *([bullets(lines)] if lines else [])])


def _cells(launches: pd.DataFrame) -> Iterator[str]:
    first = launches.iloc[0]
    yield str(first["label"])
    yield _text(first["path_expected"], "not checked")
    yield _transfer(first)
    yield _range(launches["nvlink_sent_percent"], _percent)
    yield _range(launches["pcie_sent_bytes_per_s"], rate_text)
    yield _range(launches["pcie_received_bytes_per_s"], rate_text)
    yield _range(launches["loopback_bytes"], size_text)
    yield _text(first["transports"], "not told")
    yield str(launches["round_id"].nunique())
    yield _verdict(launches)


def _verdict(launches: pd.DataFrame) -> str:
    """What the two checks say, in words."""
    path, treatment = (launches[name].iloc[0] for name in ("path_taken", "treatment_taken"))
    if pd.isna(path) and pd.isna(treatment):
        return "not checked"
    words = []
    if not pd.isna(path):
        words.append("the way asked for" if path else "another way than asked for")
    if not pd.isna(treatment):
        words.append("treatment took effect" if treatment else "treatment took no effect")
    return "; ".join(words)


def _agrees(launches: pd.DataFrame) -> bool:
    checks = launches[["path_taken", "treatment_taken"]].iloc[0].dropna()
    return bool(checks.all()) and not checks.empty


def _disagreements(counted: pd.DataFrame) -> Iterator[str]:
    """What failed checks found and expected; such records are kept out of verdicts."""
    for name, what in (("path", "way"), ("treatment", "treatment")):
        failed = counted[~counted[f"{name}_taken"].fillna(True)]
        keys = ["label", f"{name}_expected", f"{name}_found"]
        for (label, expected, found), own in failed.groupby(keys, sort=False):
            where = f"{label}, {rounds_text(own['round'])}"
            yield f"{where}, {what}: found {found}, expected {expected}; kept out of verdicts."


def _without(bare: pd.DataFrame) -> Iterator[str]:
    """Launches that counted no transfer, with the reason."""
    for reason, own in bare.groupby("reason", sort=False):
        labels, suites = dict.fromkeys(own["label"]), dict.fromkeys(own["suite"])
        yield f"{', '.join(labels)}, suite {', '.join(suites)}: not counted, {reason}."


def _transfer(first: pd.Series) -> str:
    if pd.isna(first["transfer"]):
        return ABSENT
    return f"{first['transfer']}: {size_text(first['expected_bytes'])}"


def _range(values: pd.Series, words: Callable[[float], str]) -> str:
    known = values.dropna()
    if known.empty:
        return ABSENT
    shown = [words(float(value)) for value in (known.median(), known.min(), known.max())]
    return _short(shown)


def _short(shown: Sequence[str]) -> str:
    return shown[0] if len(set(shown)) == 1 else around_text(*shown)


def _percent(value: float) -> str:
    return f"{significant(value, 4)} %"


def _text(value: object, absent: str) -> str:
    return absent if pd.isna(value) else str(value)
