"""What a record of suite `strategies` says: speed of the step, and its bytes beside the formula.

Layer: analysis. Reads no file.
"""

from statistics import fmean, median

from commwall.analysis.quantities import (
    FORMULA_SENT,
    SENT,
    SENT_OVER_FORMULA,
    SPLIT_STEP,
    STRATEGY_TOKENS,
)
from commwall.analysis.values.derived import Derived
from commwall.analysis.values.readings import all_values, gap_reason, slowest_rank, why_no_steps
from commwall.language.translate import tr, tr_later
from commwall.schema.record import Record
from commwall.schema.strategies import StrategiesCase
from commwall.schema.volumes import sent_bytes

_UNCOUNTED = tr_later("the record does not state the bytes that every rank sent")
_ALONE = tr_later("one process sends nothing")


def strategy_values(record: Record, case: StrategiesCase) -> Derived:
    """A record's quantities, and why others are absent.

    Args:
        record: one cell of a campaign.
        case: its case.
    """
    sent = sent_values(record, sent_bytes(case, record.platform.world_size))
    return _step_values(record, case) | sent


def _step_values(record: Record, case: StrategiesCase) -> Derived:
    why = why_no_steps(record, None)
    if why:
        return Derived({}, dict.fromkeys((STRATEGY_TOKENS, SPLIT_STEP), why))
    step_s = median(slowest_rank(record, None))
    tokens = case.step_samples(record.platform.world_size) * case.sequence_length
    return Derived({STRATEGY_TOKENS: tokens / step_s, SPLIT_STEP: step_s})


def sent_values(record: Record, formula_bytes: float) -> Derived:
    """Bytes that a rank sent in a step beside the formula's, and why they are absent.

    Args:
        record: one cell of a campaign.
        formula_bytes: what the formula says [byte]; 0 of one process, which sends nothing.
    """
    if not formula_bytes:
        every = (SENT, FORMULA_SENT, SENT_OVER_FORMULA)
        return Derived({}, dict.fromkeys(every, tr(_ALONE)))
    formula = {FORMULA_SENT: formula_bytes}
    sent = list(all_values(record, SENT.metric_id))
    if len(sent) != record.platform.world_size:
        why = gap_reason(record, SENT.metric_id) or tr(_UNCOUNTED)
        return Derived(formula, dict.fromkeys((SENT, SENT_OVER_FORMULA), why))
    mean = fmean(sent)
    return Derived(formula | {SENT: mean, SENT_OVER_FORMULA: mean / formula_bytes})
