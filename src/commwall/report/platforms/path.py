"""Evidence of path on the platforms page: which way a known transfer took on each platform.

Layer: report. Reads and writes no file. Counts are those of table `traffic`.
"""

from collections.abc import Callable, Iterator, Mapping

import pandas as pd

from commwall.analysis.gaps import rounds_text
from commwall.language.translate import around_text, clauses, listed, tr, tr_later
from commwall.report.html import Group, Html, bullets, folded, grouped_table, joined, paragraph
from commwall.report.page import Page
from commwall.schema.treatment import LinkPath
from commwall.schema.units import rate_text, significant, size_text

CAPTION = tr_later(
    "One row a platform and outcome, over its launches and ranks: median (least to greatest). "
    "What a rank sends is the wire formula's; NVLink counts payload, PCIe and loopback all that "
    "passed meanwhile."
)
PATHS: Mapping[LinkPath, str] = {
    "nvlink": "NVLink",
    "pcie_peer": tr_later("PCIe from GPU to GPU"),
    "host_staged": tr_later("through host memory"),
    "socket": tr_later("through the network stack"),
    "ib": tr_later("by InfiniBand"),
    "roce": tr_later("by RoCE"),
}
"""Ways in words."""
ALIKE = ["label", "path", "path_taken", "treatment_taken", "transports", "operation"]
"""Launches that agree in these stand in one row."""
CHECKED = {"path": tr_later("way"), "treatment": tr_later("treatment")}
"""Beginning of the columns of each check -> what it is about."""
ABSENT = tr_later("not counted")


def traffic_table(page: Page) -> Html:
    """What carried the known transfer on each platform, and whether it is what was claimed."""
    own = page.tables.traffic
    seen = own[["transfer", "path_taken", "treatment_taken"]].notna().any(axis=1)
    counted, bare = own[seen], own[~seen]
    if counted.empty:
        reasons = clauses(dict.fromkeys(bare["reason"].dropna())) or tr("no record")
        return paragraph(tr("Evidence of path: none, {reasons}.", reasons=reasons), "missing")
    counted = counted.join(_split(counted["transfer"]))
    rows = [
        ("" if _proven(launches) else "refused", tuple(_cells(launches)))
        for _, launches in counted.groupby(ALIKE, sort=False, dropna=False)
    ]
    lines = [*_open(counted), *_without(bare), *_unread(page)]
    heads = (tr("platform"), tr("claimed way"), tr("known transfer, each rank sends"),
             tr("NVLink, share of it"), tr("PCIe sent"), tr("PCIe received"), tr("loopback"),
             tr("NCCL's ways"), tr("launches"), tr("verdict"))  # fmt: skip
    return joined(
        [
            grouped_table(heads, [Group("", rows)], tr(CAPTION)),
            *([bullets(lines)] if lines else []),
            folded(tr("What the checks found, in words"), bullets(_found(counted))),
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
    parts = [_taken_text(taken.fillna(False))]
    for words, which in (
        (tr_later("another one in {n} ({platforms})"), ~taken.fillna(True)),
        (tr_later("the way is not proven in {n} ({platforms})"), taken.isna()),
    ):
        if which.any():
            labels = listed(dict.fromkeys(launches[which]["label"]))
            parts.append(tr(words, n=which.sum(), platforms=labels))
    yield tr("The known transfer {what}.", what=clauses(parts))


def _taken_text(took: pd.Series) -> str:
    """In how many launches the claimed way was taken."""
    if took.all():
        return tr("took the claimed way in all {n} launches", n=len(took))
    return tr("took the claimed way in {k} of {n} launches", k=took.sum(), n=len(took))


def _cells(launches: pd.DataFrame) -> Iterator[str]:
    first = launches.iloc[0]
    yield str(first["label"])
    yield tr("none") if pd.isna(first["path"]) else tr(PATHS[first["path"]])
    yield _transfer(launches)
    yield _range(launches["nvlink_sent_percent"], _percent)
    yield _range(launches["pcie_sent_bytes_per_s"], rate_text)
    yield _range(launches["pcie_received_bytes_per_s"], rate_text)
    yield _range(launches["loopback_bytes"], size_text)
    yield tr("not told") if pd.isna(first["transports"]) else str(first["transports"])
    yield str(len(launches[["suite", "round_id"]].drop_duplicates()))
    yield _verdict(first)


def _verdict(first: pd.Series) -> str:
    """What the two checks say, in words."""
    path, treatment = first["path_taken"], first["treatment_taken"]
    words = {
        tr("another way than claimed"): not pd.isna(path) and not path,
        tr("way not proven"): pd.isna(path) and not pd.isna(first["path"]),
        tr("took the way"): not pd.isna(path) and bool(path),
        tr("treatment took no effect"): not pd.isna(treatment) and not treatment,
        tr("treatment took effect"): not pd.isna(treatment) and bool(treatment),
        tr("treatment not checked"): pd.isna(treatment),
    }
    return listed(text for text, holds in words.items() if holds)


def _proven(launches: pd.DataFrame) -> bool:
    checks = launches[["path_taken", "treatment_taken"]].iloc[0].dropna()
    return bool(checks.all()) and not checks.empty


def _open(counted: pd.DataFrame) -> Iterator[str]:
    """Failed checks with what they found, and why a way or treatment is not proven."""
    for name, what in CHECKED.items():
        failed = counted[~counted[f"{name}_taken"].fillna(True)]
        keys = ["label", f"{name}_expected", f"{name}_found"]
        for (label, expected, found), own in failed.groupby(keys, sort=False):
            yield tr(
                "{platform}, {rounds}, {what}: found {found}; expected {expected}. Kept out of "
                "verdicts.",
                platform=label,
                rounds=rounds_text(own["round"]),
                what=tr(what),
                found=found,
                expected=expected,
            )
        for (label, reason), own in counted.groupby(["label", f"{name}_reason"], sort=False):
            yield tr(
                "{platform}, {rounds}, {what} not proven: {reason}.",
                platform=label,
                rounds=rounds_text(own["round"]),
                what=tr(what),
                reason=reason,
            )


def _found(counted: pd.DataFrame) -> Iterator[str]:
    """What passed checks found, one launch of each platform as an example."""
    for name, what in CHECKED.items():
        passed = counted[counted[f"{name}_taken"].fillna(False)]
        for label, own in passed.groupby("label", sort=False):
            first = own.iloc[0]
            yield tr(
                "{platform}, {suite}, round {round}, {what}: {found}.",
                platform=label,
                suite=first["suite"],
                round=first["round"],
                what=tr(what),
                found=first[f"{name}_found"],
            )


def _without(bare: pd.DataFrame) -> Iterator[str]:
    """Launches that counted no transfer, with the reason."""
    for reason, own in bare.groupby("reason", sort=False):
        yield tr(
            "{platforms}, suite {suites}: not counted, {reason}.",
            platforms=listed(dict.fromkeys(own["label"])),
            suites=listed(dict.fromkeys(own["suite"])),
            reason=reason,
        )


def _unread(page: Page) -> Iterator[str]:
    """Counters and log lines of the transfer that could not be read."""
    found: dict[str, list[str]] = {}
    records = [cell.record for cell in page.analysis.cells if cell.record.traffic]
    for record in records:
        for gap in record.gaps:
            start, _, part = gap.what.partition(".")
            if start == "traffic":
                what = part.replace("_", " ") or tr("counters of the links")
                words = f"{what}: {gap.reason}"
                found.setdefault(words, []).append(page.analysis.names[record.id.platform])
    for words, labels in found.items():
        places = listed(dict.fromkeys(labels))
        yield tr("{platforms}, not read, {what}.", platforms=places, what=words)


def _split(transfers: pd.Series) -> pd.DataFrame:
    """Number and operation of transfers in words, such as `20 all-reduces of 256 MiB`; of words
    without a number all are the operation.
    """
    parts = transfers.astype("string").str.extract(r"^(?P<count>\d+) (?P<operation>.*)$")
    parts["count"] = pd.to_numeric(parts["count"])
    return parts.fillna({"operation": transfers})


def _transfer(launches: pd.DataFrame) -> str:
    """A launch repeats the operation for about as long as any other, and so not as often."""
    operation = launches["operation"].iloc[0]
    if pd.isna(operation):
        return tr(ABSENT)
    counted = launches["count"].notna().all()
    counts = f"{_range(launches['count'], lambda count: f'{count:.0f}')} " if counted else ""
    return f"{counts}{operation}: {_range(launches['expected_bytes'], size_text)}"


def _range(values: pd.Series, words: Callable[[float], str]) -> str:
    known = values.dropna()
    if known.empty:
        return tr(ABSENT)
    shown = [words(float(value)) for value in (known.median(), known.min(), known.max())]
    return shown[0] if len(set(shown)) == 1 else around_text(*shown)


def _percent(value: float) -> str:
    return f"{significant(value, 4)} %"
