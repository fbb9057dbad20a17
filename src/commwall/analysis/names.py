"""What platforms and quantities are called in front of readers.

Layer: analysis. Reads and writes no file.
"""

from dataclasses import dataclass

from commwall.schema.case import LEGS, Leg, TrainingCase
from commwall.schema.metrics import METRICS, Metric
from commwall.schema.plan import Plan, PlannedPlatform

EMULATED = "emulated"


@dataclass(frozen=True)
class Quantity:
    """A metric, of one leg where the metric has one per leg."""

    metric_id: str
    leg: Leg | None = None

    @property
    def metric(self) -> Metric:
        """Its entry in the registry."""
        return METRICS[self.metric_id]

    @property
    def label(self) -> str:
        """Words for readers, without unit."""
        return self.metric.label + (f" ({self.leg})" if self.leg else "")

    def concerns(self, case: TrainingCase) -> bool:
        """Whether a case has it: its leg is asked for, its samples are made of tokens."""
        if self.metric_id == "throughput_tokens_per_s":
            return case.sequence_length is not None
        return self.leg is None or self.leg in case.legs


PRIMARY = Quantity("throughput_samples_per_s")
"""The quantity a verdict is about; all others explain it."""

QUANTITIES: tuple[Quantity, ...] = (
    PRIMARY,
    Quantity("throughput_tokens_per_s"),
    Quantity("epoch_time_s"),
    Quantity("exposed_comm_time_s"),
    Quantity("overlap_ratio"),
    Quantity("scaling_efficiency"),
    Quantity("exchange_busbw_bytes_per_s"),
    Quantity("mfu"),
    Quantity("energy_efficiency_samples_per_j"),
    Quantity("energy_efficiency_samples_per_wh"),
    Quantity("mean_power_w"),
    *(Quantity("step_time_s", leg) for leg in LEGS),
    Quantity("peak_memory_bytes"),
)
"""Everything that has one value per round, in the order readers see it."""


def is_emulated(platform: PlannedPlatform) -> bool:
    """True if the platform's link is emulated, which every title and verdict must say."""
    return platform.treatment.kind == EMULATED


def display_names(plan: Plan) -> dict[str, str]:
    """Name of each platform in verdicts and figures: its label, made unique.

    An emulated link is called emulated even where its label forgets to; two platforms with one
    label (an A/A pair) are told apart by their own names.
    """
    titles = {platform.name: _title(platform) for platform in plan.platforms}
    return {
        name: f"{title} [{name}]" if list(titles.values()).count(title) > 1 else title
        for name, title in titles.items()
    }


def _title(platform: PlannedPlatform) -> str:
    title = platform.treatment.label.title
    forgotten = is_emulated(platform) and EMULATED not in title.lower()
    return f"{title} ({EMULATED})" if forgotten else title
