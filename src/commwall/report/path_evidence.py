"""Evidence of path on the platforms page: which way a known transfer took on each platform.

Layer: report. Reads and writes no file. Counts are those of table `traffic`.
"""

from collections.abc import Callable, Iterator, Mapping

import pandas as pd

from commwall.analysis.gaps import rounds_text
from commwall.report.html import Group, Html, bullets, folded, grouped_table, joined, paragraph
from commwall.report.page import Page
from commwall.schema.treatment import LinkPath
from commwall.schema.units import around_text, rate_text, significant, size_text

HEADS = ("platform", "claimed way", "known transfer, each rank sends", "NVLink, share of it",
         "PCIe sent", "PCIe received", "loopback", "NCCL's ways", "launches",
         "verdict")  # fmt: skip
CAPTION = (
    "One row a platform and outcome, over its launches and ranks: median (least to greatest). "
    "What a rank sends is the wire formula's; NVLink counts payload, PCIe and loopback all that "
    "passed meanwhile."
)
PATHS: Mapping[LinkPath, str] = {
    "nvlink": "NVLink",
    "pcie_peer": "PCIe from GPU to GPU",
    "host_staged": "through host memory",
    "socket": "through the network stack",
    "ib": "by InfiniBand",
    "roce": "by RoCE",
}
"""Ways in words."""
ALIKE = ["label", "path", "path_taken", "treatment_taken", "transports", "transfer",
         "expected_bytes"]  # fmt: skip
"""Launches that agree in these stand in one row."""
CHECKED = {"path": "way", "treatment": "treatment"}
"""Beginning of the columns of each check -> what it is about."""
ABSENT = "not counted"


def traffic_table(page: Page) -> Html:
    """What carried the known transfer on each platform, and whether it is what was claimed."""
    own = page.tables.traffic
    seen = own[["transfer", "path_taken", "treatment_taken"]].notna().any(axis=1)
    counted, bare = own[seen], own[~seen]
    if counted.empty:
        reasons = dict.fromkeys(bare["reason"].dropna()) or ("no record",)
        return paragraph(f"Evidence of path: none, {'; '.join(reasons)}.", "missing")
    rows = [
        ("" if _proven(launches) else "refused", tuple(_cells(launches)))
        for _, launches in counted.groupby(ALIKE, sort=False, dropna=False)
    ]
    lines = [*_open(counted), *_without(bare), *_unread(page)]
    return joined(
        [
            grouped_table(HEADS, [Group("", rows)], CAPTION),
            *([bullets(lines)] if lines else []),
            folded("What the checks found, in words", bullets(_found(counted))),
        ]
    )


def path_lines(page: Page) -> Iterator[str]:
    """In how many launches the known transfer took the claimed way, for the page's verdict."""
    own = page.tables.traffic
    claimed = own[own["path"].notna() & own["transfer"].notna()]
    launches = claimed.drop_duplicates(["platform", "suite", "round_id", "transports"])
    if launches.empty:
        return
    taken = launches["path_taken"]
    parts = [f"took the claimed way in {_share(taken.fillna(False), len(launches))}"]
    for words, which in (
        ("another one in", ~taken.fillna(True)),
        ("the way is not proven in", taken.isna()),
    ):
        if which.any():
            labels = ", ".join(dict.fromkeys(launches[which]["label"]))
            parts.append(f"{words} {which.sum()} ({labels})")
    yield f"The known transfer {'; '.join(parts)}."


def _share(which: pd.Series, of: int) -> str:
    return f"all {of} launches" if which.all() else f"{which.sum()} of {of} launches"


def _cells(launches: pd.DataFrame) -> Iterator[str]:
    first = launches.iloc[0]
    yield str(first["label"])
    yield "none" if pd.isna(first["path"]) else PATHS[first["path"]]
    yield _transfer(first)
    yield _range(launches["nvlink_sent_percent"], _percent)
    yield _range(launches["pcie_sent_bytes_per_s"], rate_text)
    yield _range(launches["pcie_received_bytes_per_s"], rate_text)
    yield _range(launches["loopback_bytes"], size_text)
    yield "not told" if pd.isna(first["transports"]) else str(first["transports"])
    yield str(len(launches[["suite", "round_id"]].drop_duplicates()))
    yield _verdict(first)


def _verdict(first: pd.Series) -> str:
    """What the two checks say, in words."""
    path, treatment = first["path_taken"], first["treatment_taken"]
    words = {
        "another way than claimed": not pd.isna(path) and not path,
        "way not proven": pd.isna(path) and not pd.isna(first["path"]),
        "took the way": not pd.isna(path) and bool(path),
        "treatment took no effect": not pd.isna(treatment) and not treatment,
        "treatment took effect": not pd.isna(treatment) and bool(treatment),
        "treatment not checked": pd.isna(treatment),
    }
    return ", ".join(text for text, holds in words.items() if holds)


def _proven(launches: pd.DataFrame) -> bool:
    checks = launches[["path_taken", "treatment_taken"]].iloc[0].dropna()
    return bool(checks.all()) and not checks.empty


def _open(counted: pd.DataFrame) -> Iterator[str]:
    """Failed checks with what they found, and why a way or treatment is not proven."""
    for name, what in CHECKED.items():
        failed = counted[~counted[f"{name}_taken"].fillna(True)]
        keys = ["label", f"{name}_expected", f"{name}_found"]
        for (label, expected, found), own in failed.groupby(keys, sort=False):
            where = f"{label}, {rounds_text(own['round'])}"
            yield f"{where}, {what}: found {found}; expected {expected}. Kept out of verdicts."
        for (label, reason), own in counted.groupby(["label", f"{name}_reason"], sort=False):
            yield f"{label}, {rounds_text(own['round'])}, {what} not proven: {reason}."


def _found(counted: pd.DataFrame) -> Iterator[str]:
    """What passed checks found, one launch of each platform as an example."""
    for name, what in CHECKED.items():
        passed = counted[counted[f"{name}_taken"].fillna(False)]
        for label, own in passed.groupby("label", sort=False):
            first = own.iloc[0]
            where = f"{label}, {first['suite']}, round {first['round']}"
            yield f"{where}, {what}: {first[f'{name}_found']}."


def _without(bare: pd.DataFrame) -> Iterator[str]:
    """Launches that counted no transfer, with the reason."""
    for reason, own in bare.groupby("reason", sort=False):
        labels, suites = dict.fromkeys(own["label"]), dict.fromkeys(own["suite"])
        yield f"{', '.join(labels)}, suite {', '.join(suites)}: {ABSENT}, {reason}."


def _unread(page: Page) -> Iterator[str]:
    """Counters and log lines of the transfer that could not be read."""
    found: dict[str, list[str]] = {}
    records = [cell.record for cell in page.analysis.cells if cell.record.traffic]
    for record in records:
        for gap in record.gaps:
            start, _, part = gap.what.partition(".")
            if start == "traffic":
                words = f"{part.replace('_', ' ') or 'counters of the links'}: {gap.reason}"
                found.setdefault(words, []).append(page.analysis.names[record.id.platform])
    for words, labels in found.items():
        yield f"{', '.join(dict.fromkeys(labels))}, not read, {words}."


def _transfer(first: pd.Series) -> str:
    if pd.isna(first["transfer"]):
        return ABSENT
    return f"{first['transfer']}: {size_text(first['expected_bytes'])}"


def _range(values: pd.Series, words: Callable[[float], str]) -> str:
    known = values.dropna()
    if known.empty:
        return ABSENT
    shown = [words(float(value)) for value in (known.median(), known.min(), known.max())]
    return shown[0] if len(set(shown)) == 1 else around_text(*shown)


def _percent(value: float) -> str:
    return f"{significant(value, 4)} %"
