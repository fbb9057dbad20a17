"""Quantities that are judged or told: a metric, of one leg where it has one per leg.

Layer: analysis. Reads and writes no file.
"""

from dataclasses import dataclass

from commwall.language.translate import tr
from commwall.schema.case import CAPTURING, LEGS, Case, Leg, SuiteName, TrainingCase
from commwall.schema.metric import Metric
from commwall.schema.metrics import METRICS
from commwall.schema.mitigation import PriceCase
from commwall.schema.use_metrics import AVERAGED, MEAN

HOST_GAP = "host_gap_share"


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
        label = tr(self.metric.label)
        return tr("{quantity} ({leg})", quantity=label, leg=self.leg) if self.leg else label

    def concerns(self, case: Case) -> bool:
        """Whether a case of its suite has it: its leg is asked for, its samples are tokens, its
        steps are recorded.
        """
        if not isinstance(case, TrainingCase):
            return not isinstance(case, PriceCase)
        if self.metric_id == "throughput_tokens_per_s":
            return case.sequence_length is not None
        if self.metric_id == HOST_GAP and case.step_mode not in CAPTURING:
            return False
        if self in PACKED:
            return "packed" in case.legs
        return self.leg is None or self.leg in case.legs


def step_time(leg: Leg) -> Quantity:
    """Step time of a leg."""
    return Quantity("step_time_s", leg)


PRIMARY = Quantity("throughput_samples_per_s")
"""The quantity a verdict on training is about; all others explain it."""
EXCHANGE_COST = Quantity("exchange_cost_time_s")
PACKED = (Quantity("packing_time_s"), EXCHANGE_COST)
"""What leg `packed` tells; cases planned without it lack nothing."""
EXPOSED = Quantity("exposed_comm_time_s")
OVERLAP = Quantity("overlap_ratio")
HOST_GAPS = tuple(Quantity(HOST_GAP, leg) for leg in LEGS)
ABOVE_IDLE = Quantity("energy_above_idle_j_per_sample")
SIGNED = frozenset({EXPOSED, OVERLAP, ABOVE_IDLE, *PACKED, *HOST_GAPS})
"""Differences, which may be negative; all other quantities are positive."""
MEAN_POWER = Quantity("mean_power_w")
OPERATION_TIME = Quantity("operation_time_s")
EAGER_TIME = Quantity("eager_time_s")
NCCL_TESTS_TIME = Quantity("nccl_tests_time_s")
BUSBW = Quantity("busbw_bytes_per_s")
ALGBW = Quantity("algbw_bytes_per_s")
LATENCY = Quantity("latency_s")
MEMORY_BANDWIDTH = Quantity("memory_bandwidth_bytes_per_s")
STRATEGY_TOKENS = Quantity("strategy_tokens_per_s")
SPLIT_STEP = Quantity("step_time_s")
SENT = Quantity("step_sent_bytes")
DECODE_TOKENS = Quantity("decode_tokens_per_s")
DECODE_TOKENS_PER_GPU = Quantity("decode_tokens_per_s_per_gpu")
PREFILL_TOKENS = Quantity("prefill_tokens_per_s")
TOKEN_TIME = Quantity("token_time_s")
PREFILL_TIME = Quantity("prefill_time_s")
HBM_SHARE = Quantity("hbm_bound_share")
FORMULA_SENT = Quantity("formula_sent_bytes")
SENT_OVER_FORMULA = Quantity("sent_over_formula")
MITIGATED = Quantity("mitigated_throughput_samples_per_s")
UNMITIGATED = Quantity("unmitigated_throughput_samples_per_s")
SPEEDUP = Quantity("mitigation_speedup")

_TRAINING: tuple[Quantity, ...] = (
    PRIMARY,
    Quantity("throughput_tokens_per_s"),
    Quantity("epoch_time_s"),
    EXPOSED,
    OVERLAP,
    Quantity("scaling_efficiency"),
    Quantity("exchange_busbw_bytes_per_s"),
    Quantity("mfu"),
    Quantity("energy_efficiency_samples_per_j"),
    Quantity("energy_efficiency_samples_per_wh"),
    Quantity("efficiency_above_idle_samples_per_wh"),
    MEAN_POWER,
    *map(step_time, LEGS),
    *HOST_GAPS,
    Quantity("peak_memory_bytes"),
)
QUANTITIES_OF: dict[SuiteName, tuple[Quantity, ...]] = {
    "training": _TRAINING,
    "memory": (MEMORY_BANDWIDTH,),
    "collectives": (BUSBW, ALGBW, LATENCY),
    "strategies": (STRATEGY_TOKENS, SPLIT_STEP),
    "inference": (DECODE_TOKENS, PREFILL_TOKENS, TOKEN_TIME, PREFILL_TIME),
    "mitigations": (MITIGATED, UNMITIGATED, SPEEDUP),
}
"""Everything of a suite that is judged, one value per round, the quantity its verdicts are about
first, then in the order readers see it."""

MEMORY_SHARE = Quantity("memory_share")
MEMORY_TRAFFIC = Quantity("memory_traffic_bytes_per_s")
STEP_TRAFFIC = Quantity("step_memory_traffic_bytes")
ENERGY_PER_SAMPLE = Quantity("energy_j_per_sample")
TIME_PER_SAMPLE = Quantity("mean_sample_time_s")
DESCRIBED: tuple[Quantity, ...] = (
    ENERGY_PER_SAMPLE,
    TIME_PER_SAMPLE,
    ABOVE_IDLE,
    *PACKED,
    MEMORY_SHARE,
    MEMORY_TRAFFIC,
    STEP_TRAFFIC,
    SENT,
    FORMULA_SENT,
    SENT_OVER_FORMULA,
    DECODE_TOKENS_PER_GPU,
    HBM_SHARE,
    *(Quantity(MEAN + metric.id) for metric in AVERAGED),
)
"""What has one value per round too and no verdict: it says why others differ."""

QUANTITIES = tuple(quantity for own in (*QUANTITIES_OF.values(), DESCRIBED) for quantity in own)
PRIMARIES = frozenset(own[0] for own in QUANTITIES_OF.values())
"""The quantity of each suite that its verdicts are about."""
