"""Why measured gains lie outside the band of the line, as far as records tell.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from commwall.analysis.quantities import OVERLAP
from commwall.language.translate import tr, tr_later
from commwall.report.page import Page

_STANDINGS = {"below": tr_later("below"), "within": tr_later("within"), "above": tr_later("above")}
SIDES = ["faster", "slower"]


def why_outside(page: Page) -> Iterator[str]:
    """A sentence for each measured case that does not lie in its band."""
    unlike = _unlike_clocks(page)
    for row in page.curve.breakeven.to_dict("records"):
        if row["standing"] != "within":
            yield _why_outside(row, unlike)


def _unlike_clocks(page: Page) -> dict[tuple[str, str], str]:
    """Case and platform -> why a round does not tell what was hidden: mostly, other clocks."""
    return {
        (cell.record.id.case, cell.record.id.platform): cell.derived.absent[OVERLAP]
        for cell in page.analysis.cells
        if OVERLAP in cell.derived.absent
    }


def _why_outside(row: dict[str, Any], unlike: Mapping[tuple[str, str], str]) -> str:
    """The known reason, shown by the shares hidden; or why these are not known."""
    for side in SIDES:
        why = unlike.get((row["case"], row[side]))
        if why and pd.isna(row[f"hidden_{side}_percent"]):
            return tr(
                "{case} lies {standing} the band; how much was hidden over {link} is not known: "
                "{why}.",
                case=row["case"],
                standing=standing_text(row["standing"]),
                link=row[f"label_{side}"],
                why=why,
            )
    fast, slow = (row[f"hidden_{side}_percent"] for side in SIDES)
    told = {
        "case": row["case"],
        "faster": row["label_faster"],
        "slower": row["label_slower"],
        "hidden_faster": percent_text(fast),
        "hidden_slower": percent_text(slow),
    }
    if row["standing"] == "below":
        return _why_below(told, known=fast < slow, packed=row["packed"])
    if fast > slow:
        return tr(
            "{case} lies above the band: over {slower} only {hidden_slower} of what could be "
            "hidden was, over {faster} {hidden_faster}: the slower exchange is in the way of "
            "compute for longer.",
            **told,
        )
    return tr("{case} lies above the band; the shares hidden do not say why.", **told)


def _why_below(told: dict[str, str], *, known: bool, packed: bool) -> str:
    """The same of a case that gains less than the line gives it."""
    if not known:
        return tr("{case} lies below the band; the shares hidden do not say why.", **told)
    if packed:
        return tr(
            "{case} lies below the band: over {faster} only {hidden_faster} of what could be "
            "hidden was, over {slower} {hidden_slower}, and the line gives both the same share. "
            "What a step over {faster} waits for beyond that is not its rate: compute and exchange "
            "are in each other's way.",
            **told,
        )
    return tr(
        "{case} lies below the band: over {faster} only {hidden_faster} of what could be hidden "
        "was, over {slower} {hidden_slower}, and the line gives both the same share. What a step "
        "over {faster} waits for beyond that is not its rate: gradients are packed into buckets "
        "and back, and compute and exchange are in each other's way.",
        **told,
    )


def standing_text(standing: str) -> str:
    """Where a case lies relative to the band."""
    return tr(_STANDINGS[standing])


def percent_text(value: float) -> str:
    """A share hidden, or that it is not known."""
    return tr("not known") if pd.isna(value) else f"{value:.0f} %".replace("-", "−")
