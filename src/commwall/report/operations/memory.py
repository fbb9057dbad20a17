"""Ways of copies on a page: the share of the nominal rate, and what devices share.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator

import pandas as pd

from commwall.language.translate import around_text, clauses, tr
from commwall.report.html import Group, Html, grouped_table, paragraph, table
from commwall.report.operations.page import no_value_text, place_text
from commwall.report.page import Page
from commwall.schema.metrics import METRICS
from commwall.schema.units import rate_text, significant

SHARE = METRICS["nominal_share"]
TOGETHER = METRICS["together_share"]
_COPY = ["case", "message_bytes", "rank", "peer", "path", "nominal_bytes_per_s"]
"""What tells one copy from another."""


def paths(page: Page) -> Html:
    """Way and nominal rate of every copy and size, and the share each platform reached."""
    own = page.tables.paths[page.tables.paths["admitted"]]
    if own.empty:
        return paragraph(no_value_text(tr(SHARE.label)), "missing")
    labels = list(dict.fromkeys(own["label"]))
    known = own[own["nominal_bytes_per_s"].notna()]
    lines = [
        ("", (_place(line), str(line["path"].iloc[0]), _nominal(line), *_shares(line, labels)))
        for _, line in known.groupby(_COPY, sort=False, dropna=False)
    ]
    lines += [("refused", cells) for cells in _unknown(own.drop(known.index))]
    heads = (tr("case, size"), tr("way"), tr("nominal"), *labels)
    words = tr("Share of the nominal rate: median of the rounds (least to greatest).")
    return grouped_table(heads, [Group("", lines)], words)


def sharing(page: Page) -> Html:
    """What a device reaches while all copy, relative to what it reaches alone."""
    own = page.tables.sharing
    keys = ["case", "case_alone", "message_bytes", "rank", "label"]
    lines = [
        (
            place_text(case, size, rank, None),
            label,
            _rates(line["together_bytes_per_s"]),
            _rates(line["alone_bytes_per_s"]),
            _range([significant(value) for value in _three(line["together_share"])], len(line)),
        )
        for (case, _, size, rank, label), line in own.groupby(keys, sort=False)
    ]
    if not lines:
        words = tr(
            "Shared ways: no operation was measured both ways: all ranks at once, and one at a "
            "time."
        )
        return paragraph(words, "missing")
    heads = (
        tr("case, size, device"),
        tr("platform"),
        tr("all at once"),
        tr("alone"),
        tr("ratio"),
    )
    label = tr(TOGETHER.label).capitalize()
    return table(heads, lines, tr("{quantity}: median of the rounds.", quantity=label))


def _unknown(rows: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Copies without a nominal rate, those of one way and reason in one row."""
    for (path, reason), own in rows.groupby(["path", "unknown"], sort=False, dropna=False):
        places = [_place(line) for _, line in own.groupby(_COPY, sort=False, dropna=False)]
        yield clauses(places), str(path), tr("unknown: {reason}", reason=reason)


def _place(line: pd.DataFrame) -> str:
    first = line.iloc[0]
    return place_text(first["case"], first["message_bytes"], first["rank"], first["peer"])


def _nominal(line: pd.DataFrame) -> str:
    return rate_text(line["nominal_bytes_per_s"].iloc[0])


def _shares(line: pd.DataFrame, labels: list[str]) -> list[str]:
    """The share on each platform."""
    return [_share(line[line["label"] == label]["nominal_share"]) for label in labels]


def _share(shares: pd.Series) -> str:
    known = shares.dropna()
    if known.empty:
        return tr("absent")
    return _range([f"{significant(100 * value)} %" for value in _three(known)], len(known))


def _rates(rates: pd.Series) -> str:
    return _range([rate_text(value) for value in _three(rates)], len(rates))


def _three(values: pd.Series) -> tuple[float, float, float]:
    return values.median(), values.min(), values.max()


def _range(shown: list[str], rounds: int) -> str:
    return around_text(*shown) if rounds > 1 else shown[0]
