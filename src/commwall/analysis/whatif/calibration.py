"""What the records of a campaign say of compute, overlap and links, for models to start from.

Layer: analysis. Reads no file. Only admitted records count. A range is from the least to the
greatest value of any case and round: models and batches differ more than rounds do.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from commwall.analysis.derive import MFU
from commwall.analysis.links import LinkFit, fit_link
from commwall.analysis.names import Quantity
from commwall.analysis.pairs import Cell
from commwall.analysis.result import Analysis
from commwall.analysis.whatif.offers import Offer
from commwall.model.estimates import Estimate
from commwall.model.overlap import hidden_share
from commwall.schema.case import CollectivesCase, TrainingCase
from commwall.schema.errors import ConfigError

FULL, NOSYNC, PACKED, COMM = (
    Quantity("step_time_s", leg) for leg in ("full", "nosync", "packed", "comm")
)
EXCHANGE = Quantity("exchange_busbw_bytes_per_s")


@dataclass(frozen=True)
class Calibration:
    """What one campaign measured; None or no entry where it did not."""

    campaign: str
    mfu: Estimate | None
    """Of a step without exchange [1]."""
    links: dict[str, Offer]
    """Platform -> its link, with the share of what could be hidden that was."""
    gpus: tuple[str, ...]
    """Names of the GPUs that were measured."""
    models: dict[str, str]
    """Training case that compute and overlap are taken from -> its model, as `whatif` names it."""


def calibrate(analysis: Analysis, case: str | None = None) -> Calibration:
    """Gather what a campaign measured.

    Args:
        analysis: of the campaign.
        case: the only training case to take compute and overlap from; None is all.

    Raises:
        ConfigError: if the campaign has no admitted record of that case.
    """
    cells = [cell for cell in analysis.cells if not cell.refusals]
    training = [cell for cell in cells if isinstance(cell.record.case, TrainingCase)]
    campaign = analysis.evidence.index.campaign
    if case is not None:
        training = _of_case(training, case)
    return Calibration(
        campaign=campaign,
        mfu=_range("MFU without exchange", _compute_mfu(training), campaign),
        links=dict(_links(cells, training, analysis)),
        gpus=tuple(dict.fromkeys(name for cell in cells for name in gpu_names(cell))),
        models=dict(_models(training)),
    )


def _of_case(cells: Sequence[Cell], case: str) -> list[Cell]:
    known = dict.fromkeys(cell.record.id.case for cell in cells)
    if case not in known:
        raise ConfigError(
            "no such case was measured", where="--case", found=case,
            expected=f"one of {', '.join(known)}" if known else "a campaign with training",
        )  # fmt: skip
    return [cell for cell in cells if cell.record.id.case == case]


def _models(training: Iterable[Cell]) -> Iterator[tuple[str, str]]:
    for cell in training:
        case = cell.record.case
        if isinstance(case, TrainingCase):
            yield cell.record.id.case, f"{case.model}-{case.preset}"


def gpu_names(cell: Cell) -> tuple[str, ...]:
    """Names of the GPUs of a record."""
    return tuple(gpu.name for gpu in cell.record.machine.gpus)


def _range(what: str, values: Iterable[tuple[str, float]], campaign: str) -> Estimate | None:
    """Least to greatest value of all cases, which are named."""
    found = list(values)
    if not found:
        return None
    cases = ", ".join(dict.fromkeys(case for case, _ in found))
    numbers = [value for _, value in found]
    return Estimate(min(numbers), max(numbers), "measured", f"{what} of {cases} in {campaign}")


def _compute_mfu(cells: Iterable[Cell]) -> Iterator[tuple[str, float]]:
    for cell in cells:
        values, alone_s = cell.derived.values, alone(cell)
        if alone_s and {MFU, FULL} <= values.keys():
            yield cell.record.id.case, values[MFU] * values[FULL] / alone_s


def _hidden(cells: Iterable[Cell]) -> Iterator[tuple[str, float]]:
    for cell in cells:
        share = hidden_share_of(cell)
        if share is not None:
            yield cell.record.id.case, share


def alone(cell: Cell) -> float | None:
    """Step without exchange, the packing of buckets included where it was measured [s]."""
    values = cell.derived.values
    return values.get(PACKED) or values.get(NOSYNC)


def hidden_share_of(cell: Cell) -> float | None:
    """Overlap of a record as `commwall.model.overlap` defines it; None where a leg lacks."""
    values, alone_s = cell.derived.values, alone(cell)
    if alone_s is None or not {FULL, COMM} <= values.keys():
        return None
    return hidden_share(alone_s, values[COMM], values[FULL] - alone_s)


def _links(
    cells: Sequence[Cell], training: Sequence[Cell], analysis: Analysis
) -> Iterator[tuple[str, Offer]]:
    """The link of each platform with a line through its all-reduces."""
    for platform, name in analysis.names.items():
        own = [cell for cell in cells if cell.record.id.platform == platform]
        fits = [fit for cell in own if _plain_all_reduce(cell) for fit in _fits(cell)]
        if fits:
            trained = [cell for cell in training if cell.record.id.platform == platform]
            ranks = own[0].record.platform.world_size
            yield platform, _offer(name, fits, trained, ranks, analysis.evidence.index.campaign)


def _plain_all_reduce(cell: Cell) -> bool:
    case = cell.record.case
    return (
        isinstance(case, CollectivesCase)
        and case.collective == "all_reduce"
        and case.beside is None
    )


def _fits(cell: Cell) -> Iterator[LinkFit]:
    fit = fit_link(cell.record)
    if isinstance(fit, LinkFit):
        yield fit


def _offer(
    name: str, fits: Sequence[LinkFit], trained: Sequence[Cell], ranks: int, campaign: str
) -> Offer:
    """Rates from the exchange of DDP's buckets to the lines' ends; latency of one ring step."""
    exchanges = [c.derived.values[EXCHANGE] for c in trained if EXCHANGE in c.derived.values]
    rates = [*exchanges, *(fit.bytes_per_s for fit in fits)]
    latencies = [fit.latency_s / (2 * (ranks - 1)) for fit in fits]
    words = f"lines through all-reduces and exchange of buckets among {ranks} GPUs in {campaign}"
    return Offer(
        name,
        Estimate(min(rates), max(rates), "measured", words),
        Estimate(min(latencies), max(latencies), "measured", words),
        overlap=_range(f"share hidden over {name}", _hidden(trained), campaign),
    )
