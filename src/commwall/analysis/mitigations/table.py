"""The table of mitigations: one row for each mitigation, workload and platform.

Layer: analysis. Reads and writes no file; `commwall.analysis.tables.files` writes it too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from commwall.analysis.mitigations.effects import Effect, Share, effects, gains
from commwall.analysis.mitigations.prices import UNPRICED
from commwall.analysis.mitigations.words import tried_text, workload_text
from commwall.analysis.result import Analysis
from commwall.analysis.tables.frame import frame
from commwall.analysis.tables.kinds import COUNT, NUMBER, PLATFORM, TEXT, TRUTH
from commwall.analysis.tables.rows import Row, platform_columns
from commwall.language.translate import tr, tr_later
from commwall.stats.paired import PairedRatio

COLUMNS: dict[str, dict[str, str]] = {
    "mitigations": {
        **PLATFORM,
        "workload": TEXT,
        "baseline": TEXT,
        "mitigation": TEXT,
        "n": COUNT,
        "confidence": NUMBER,
        "speedup": NUMBER,
        "speedup_low": NUMBER,
        "speedup_high": NUMBER,
        "gains": TRUTH,
        "against": TEXT,
        "recovered": NUMBER,
        "recovered_low": NUMBER,
        "recovered_high": NUMBER,
        "recovered_n": COUNT,
        "why_no_share": TEXT,
        "forecast": NUMBER,
        "forecast_low": NUMBER,
        "forecast_high": NUMBER,
        "forecast_by": TEXT,
        "why_no_forecast": TEXT,
        "energy": NUMBER,
        "energy_low": NUMBER,
        "energy_high": NUMBER,
        "why_no_energy": TEXT,
        "price_nat": NUMBER,
        "price_low_nat": NUMBER,
        "price_high_nat": NUMBER,
        "seeds": COUNT,
        "gradient_error": NUMBER,
        "price_verdict": TEXT,
        "why_no_price": TEXT,
    }
}
"""Columns with their types: `speedup` and `forecast` are times of a sample without the mitigation
over times with it, `energy` is energy of a sample with it over without, all geometric means over
rounds; `baseline` is the platform of the step without; `recovered` is the share of the gap to
platform `against`, mean saving over mean gap. `price_verdict` is free, loss or unsettled."""
DESCRIPTIONS = {
    "mitigations": tr_later(
        "what each mitigation gives on its platform, beside its forecast and its price"
    ),
}


@dataclass(frozen=True)
class MitigationTables:
    """All tables about mitigations; DESCRIPTIONS says what each holds."""

    mitigations: pd.DataFrame


def mitigation_tables(analysis: Analysis) -> MitigationTables:
    """All tables about mitigations; a campaign without any gives tables without rows."""
    return MitigationTables(mitigation_table(analysis))


def mitigation_table(analysis: Analysis) -> pd.DataFrame:
    """Every mitigation that a usable round has, those without a price too."""
    rows = [_row(effect, analysis) for effect in effects(analysis)]
    return frame(rows, COLUMNS["mitigations"])


def _row(effect: Effect, analysis: Analysis) -> Row:
    case, names = effect.case, analysis.names
    return {
        **platform_columns(effect.record, analysis),
        "workload": tr("{workload}, {mode}", workload=workload_text(case), mode=case.step_mode),
        "baseline": names.get(effect.baseline, effect.baseline),
        "mitigation": tried_text(effect.tried),
        "n": effect.speedup.n,
        "confidence": analysis.confidence,
        "gains": gains(effect),
        "forecast_by": effect.forecast_by,
        "against": names.get(effect.against, effect.against) if effect.against else None,
        **dict(_ratio("speedup", effect.speedup)),
        **dict(_ratio("forecast", effect.forecast)),
        **dict(_ratio("energy", effect.energy)),
        **dict(_share(effect.recovered)),
        **_price(effect),
    }


def _ratio(name: str, ratio: PairedRatio | str) -> Iterator[tuple[str, float | str | None]]:
    if isinstance(ratio, str):
        yield f"why_no_{name}", ratio
        return
    yield name, ratio.centre
    yield f"{name}_low", ratio.interval.low if ratio.interval else None
    yield f"{name}_high", ratio.interval.high if ratio.interval else None


def _share(share: Share | str) -> Iterator[tuple[str, float | str | None]]:
    if isinstance(share, str):
        yield "why_no_share", share
        return
    yield "recovered", share.centre
    yield "recovered_low", share.interval.low if share.interval else None
    yield "recovered_high", share.interval.high if share.interval else None
    yield "recovered_n", share.n


def _price(effect: Effect) -> Row:
    price = effect.price
    if price is None:
        return {"why_no_price": tr(UNPRICED)}
    around = price.interval
    return {
        "price_nat": price.mean_nat,
        "price_low_nat": around.low if around else None,
        "price_high_nat": around.high if around else None,
        "seeds": len(price.differences_nat),
        "gradient_error": price.gradient_error,
        "price_verdict": price.verdict,
    }
