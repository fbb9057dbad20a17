"""What a record of suite `strategies` says: speed of the step, and its bytes beside the formula.

Layer: analysis. Reads no file.
"""

from statistics import fmean, median

from commwall.analysis.names import (
    FORMULA_SENT,
    SENT,
    SENT_OVER_FORMULA,
    SPLIT_STEP,
    STRATEGY_TOKENS,
    Quantity,
)
from commwall.analysis.readings import all_values, gap_reason, slowest_rank, why_no_steps
from commwall.schema.record import Record
from commwall.schema.strategies import StrategiesCase
from commwall.schema.volumes import sent_bytes

_UNCOUNTED = "the record does not state the bytes that a rank sent"


def strategy_values(
    record: Record, case: StrategiesCase
) -> tuple[dict[Quantity, float], dict[Quantity, str]]:
    """A record's quantities, and why others are absent.

    Args:
        record: one cell of a campaign.
        case: its case.
    """
    ranks = record.platform.world_size
    values: dict[Quantity, float] = {}
    absent: dict[Quantity, str] = {}
    why = why_no_steps(record, None)
    if why:
        absent |= dict.fromkeys((STRATEGY_TOKENS, SPLIT_STEP), why)
    else:
        step_s = median(slowest_rank(record, None))
        tokens = case.step_samples(ranks) * case.sequence_length
        values |= {STRATEGY_TOKENS: tokens / step_s, SPLIT_STEP: step_s}
    if ranks > 1:
        values[FORMULA_SENT] = sent_bytes(case, ranks)
    sent = list(all_values(record, SENT.metric_id))
    if len(sent) == ranks > 1:
        values |= {SENT: fmean(sent), SENT_OVER_FORMULA: fmean(sent) / values[FORMULA_SENT]}
    else:
        why = gap_reason(record, SENT.metric_id) or _UNCOUNTED
        absent |= dict.fromkeys((SENT, SENT_OVER_FORMULA), why)
    return values, absent
