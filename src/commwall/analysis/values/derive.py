"""What one record says, whatever its suite.

Layer: analysis. Reads no file.
"""

from commwall.analysis.values.derived import Derived
from commwall.analysis.values.idle import IdlePowers, idle_powers_w
from commwall.analysis.values.inference import inference_values
from commwall.analysis.values.mitigated import mitigated_values
from commwall.analysis.values.operations import operation_values
from commwall.analysis.values.strategies import strategy_values
from commwall.analysis.values.training import training_values
from commwall.schema.case import CollectivesCase, MemoryCase, TrainingCase
from commwall.schema.facts import GpuFactsFile
from commwall.schema.inference import InferenceCase
from commwall.schema.mitigation import StepCase
from commwall.schema.record import Record
from commwall.schema.strategies import StrategiesCase

NO_PEAKS = GpuFactsFile({})


def derive(
    record: Record,
    peaks: GpuFactsFile = NO_PEAKS,
    highest_hz: float | None = None,
    idle_w: IdlePowers | None = None,
) -> Derived:
    """Every quantity of a record, or the reason why it is absent; none of a price.

    Args:
        record: one cell of a campaign.
        peaks: of the GPUs that are known.
        highest_hz: highest clock of the GPUs' processors in the campaign; None if unknown [Hz].
        idle_w: idle power of the campaign's GPUs; None if the record stands alone.
    """
    match record.case:
        case TrainingCase() as training:
            idle = idle_powers_w([record]) if idle_w is None else idle_w
            return training_values(record, training, peaks, highest_hz, idle)
        case CollectivesCase() | MemoryCase():
            return operation_values(record)
        case StrategiesCase() as split:
            return strategy_values(record, split)
        case InferenceCase() as inference:
            return inference_values(record, inference, peaks)
        case StepCase():
            return mitigated_values(record)
    return Derived()
