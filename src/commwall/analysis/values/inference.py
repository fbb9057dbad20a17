"""What a record of suite `inference` says: tokens per second, and the share of the memory bound.

Layer: analysis. Reads no file.
"""

from statistics import median

from commwall.analysis.quantities import (
    DECODE_TOKENS,
    DECODE_TOKENS_PER_GPU,
    HBM_SHARE,
    PREFILL_TIME,
    PREFILL_TOKENS,
    TOKEN_TIME,
)
from commwall.analysis.values.derived import Derived
from commwall.analysis.values.readings import slowest_rank, why_no_steps
from commwall.analysis.values.strategies import sent_values
from commwall.language.translate import tr
from commwall.schema.facts import GpuFactsFile
from commwall.schema.inference import InferenceCase, read_bytes
from commwall.schema.record import Record
from commwall.schema.volumes import token_sent_bytes


def inference_values(record: Record, case: InferenceCase, peaks: GpuFactsFile) -> Derived:
    """A record's quantities, and why others are absent.

    Args:
        record: one cell of a campaign.
        case: its case.
        peaks: of the GPUs that are known.
    """
    ranks = record.platform.world_size
    return (
        _prompts(record, case)
        | _tokens(record, case, peaks)
        | sent_values(record, token_sent_bytes(case, ranks))
    )


def _prompts(record: Record, case: InferenceCase) -> Derived:
    why = why_no_steps(record, None, PREFILL_TIME.metric_id)
    if why:
        return Derived({}, dict.fromkeys((PREFILL_TIME, PREFILL_TOKENS), why))
    time_s = median(slowest_rank(record, None, PREFILL_TIME.metric_id))
    tokens = case.batch * case.prompt_tokens
    return Derived({PREFILL_TIME: time_s, PREFILL_TOKENS: tokens / time_s})


def _tokens(record: Record, case: InferenceCase, peaks: GpuFactsFile) -> Derived:
    ranks = record.platform.world_size
    why = why_no_steps(record, None, TOKEN_TIME.metric_id)
    if why:
        every = (TOKEN_TIME, DECODE_TOKENS, DECODE_TOKENS_PER_GPU, HBM_SHARE)
        return Derived({}, dict.fromkeys(every, why))
    time_s = median(slowest_rank(record, None, TOKEN_TIME.metric_id))
    values = {
        TOKEN_TIME: time_s,
        DECODE_TOKENS: case.batch / time_s,
        DECODE_TOKENS_PER_GPU: case.batch / time_s / ranks,
    }
    rate = _memory_rate(record, peaks)
    if isinstance(rate, str):
        return Derived(values, {HBM_SHARE: rate})
    return Derived(values | {HBM_SHARE: read_bytes(case, ranks) / rate / time_s})


def _memory_rate(record: Record, peaks: GpuFactsFile) -> float | str:
    """Nominal rate of each GPU's memory [byte/s], or why it is not known."""
    runtime = record.software.runtime
    if record.platform.device == "cpu":
        return tr("the nominal rate of a machine's RAM is not on file")
    names = runtime.device_names if runtime else ()
    own = peaks.of_all(names)
    if own is None or own.memory_bytes_per_s is None:
        gpus = tr(" and ").join(dict.fromkeys(names))
        return tr("the memory of {gpus} is unknown (config/facts/gpus.yaml)", gpus=gpus)
    return own.memory_bytes_per_s.value
