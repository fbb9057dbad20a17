"""What a notebook works with: the analysis of one campaign, its tables and its looks.

Layer: report. Reads index, plan and records of the campaign through `commwall.analysis`.
"""

from dataclasses import dataclass
from pathlib import Path

from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.tables.breakeven import BreakEven, break_even
from commwall.analysis.tables.census import Census, census_tables
from commwall.analysis.tables.tidy import Tables
from commwall.language.translate import ENGLISH, speak
from commwall.records.layout import Layout
from commwall.report.style import Look, looks_of


@dataclass(frozen=True)
class Page:
    """Everything one page shows."""

    analysis: Analysis
    tables: Tables
    census: Census
    """Tables about the campaign itself."""
    curve: BreakEven
    """Tables about when the faster link pays."""
    looks: dict[str, Look]
    """Platform -> its look in every figure."""

    @property
    def on_gpus(self) -> bool:
        """Whether the campaign measures GPUs, as its plan says."""
        plan = self.analysis.plan
        return any(platform.device == "cuda" for platform in (plan.platforms if plan else ()))


def open_page(
    root: str | Path, campaign: str, confidence: float, language: str | None = None
) -> Page:
    """Analyse a campaign for a page, and write from now on in the page's language.

    Args:
        root: the checkout.
        campaign: its name.
        confidence: level of all intervals.
        language: one of `LANGUAGES`; None is English.

    Raises:
        LanguageError: if there is no such language.
        EvidenceMissing: if the campaign has no index.
        RecordError: if a record changed since the index was made.
    """
    speak(language or ENGLISH)
    analysis = analyse_campaign(Layout(Path(root)), campaign, confidence)
    return Page(
        analysis=analysis,
        tables=Tables(analysis),
        census=census_tables(analysis),
        curve=break_even(analysis),
        looks=looks_of(analysis.names),
    )
