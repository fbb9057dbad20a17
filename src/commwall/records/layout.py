"""Where everything lies below the root of a checkout.

Layer: records. Builds paths, touches no file but the folder list of `results/`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from commwall.language.translate import ENGLISH, folder_of
from commwall.schema.base import NAME_PATTERN
from commwall.schema.record import RecordId

_CAMPAIGN = re.compile(NAME_PATTERN)
TAKEN = frozenset({"site", "pages"})
"""Folders in `results/` that are made anew with the pages; no campaign may have their names."""


@dataclass(frozen=True)
class Layout:
    """Paths of one checkout."""

    root: Path

    def campaign_dir(self, campaign: str) -> Path:
        """Folder of a campaign."""
        return self.root / "results" / campaign

    def plan_path(self, campaign: str) -> Path:
        """The frozen plan."""
        return self.campaign_dir(campaign) / "plan.json"

    def origin_path(self, campaign: str) -> Path:
        """Manifest of the environment that measured a campaign which was taken in."""
        return self.campaign_dir(campaign) / "origin" / "bench.json"

    def predictions_path(self, campaign: str) -> Path:
        """What the campaign predicts for those who measure it again."""
        return self.campaign_dir(campaign) / "predictions.json"

    def withdrawn_path(self, campaign: str) -> Path:
        """Digests of records that were withdrawn, with reasons."""
        return self.campaign_dir(campaign) / "withdrawn.json"

    def records_dir(self, campaign: str) -> Path:
        """Folder of all records of a campaign."""
        return self.campaign_dir(campaign) / "records"

    def record_path(self, campaign: str, platform: str, suite: str, case: str, round_: int) -> Path:
        """The record of one case on one platform in one round."""
        return self.campaign_dir(campaign) / _record_place(platform, suite, case, round_)

    def path_of(self, record: RecordId) -> Path:
        """The place where a record of that identity belongs."""
        return self.record_path(
            record.campaign, record.platform, record.suite, record.case, record.round
        )

    def attempt_path(self, campaign: str, suite: str) -> Path:
        """What the last run of the measuring verb did."""
        return self.campaign_dir(campaign) / "attempts" / f"{suite}.json"

    def index_path(self, campaign: str) -> Path:
        """List of the campaign's records and what is missing."""
        return self.campaign_dir(campaign) / "index.json"

    def tables_dir(self, campaign: str) -> Path:
        """Tidy tables."""
        return self.campaign_dir(campaign) / "tables"

    def notebooks_dir(self, campaign: str, language: str = ENGLISH) -> Path:
        """Executed notebooks and their pages; other languages than English in a folder below."""
        return self.campaign_dir(campaign) / "notebooks" / folder_of(language)

    def general_dir(self, language: str = ENGLISH) -> Path:
        """Executed notebooks that belong to no campaign, and their pages."""
        return self.root / "results" / "pages" / folder_of(language)

    def site_dir(self) -> Path:
        """The pages to publish."""
        return self.root / "results" / "site"

    def landing_path(self) -> Path:
        """The page from which all others are reached."""
        return self.site_dir() / "index.html"

    def states_dir(self, campaign: str) -> Path:
        """What the workflow knows of a campaign."""
        return self.root / ".cw" / campaign

    def state_path(self, campaign: str, suite: str) -> Path:
        """What the workflow knows of a suite's records."""
        return self.states_dir(campaign) / f"{suite}.state"

    def verified_path(self, campaign: str, suite: str) -> Path:
        """What the last look at a suite's records found valid."""
        return self.root / ".cw" / campaign / f"{suite}.verified"

    def kernels_dir(self) -> Path:
        """Kernels that workers have compiled, for the launches that follow."""
        return self.root / ".cw" / "kernels"

    def logs_dir(self, campaign: str, suite: str) -> Path:
        """Logs of the launches."""
        return self.root / "logs" / "measure_suite" / campaign / suite

    def campaigns(self) -> tuple[str, ...]:
        """Names of the campaigns that have a plan, sorted.

        A folder whose name no campaign can have (a copy "x (2)", say) is none.
        """
        folders = {path.parent.name for path in self.root.glob("results/*/plan.json")}
        return tuple(sorted(name for name in folders - TAKEN if _CAMPAIGN.fullmatch(name)))


def path_in_campaign(record: RecordId) -> str:
    """Where a record lies below its campaign's folder."""
    return _record_place(record.platform, record.suite, record.case, record.round)


def _record_place(platform: str, suite: str, case: str, round_: int) -> str:
    return f"records/{platform}/{suite}/{case}/r{round_:02d}.json"
