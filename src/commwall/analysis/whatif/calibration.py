"""What the records of a campaign say of compute, overlap and links, for models to start from.

Layer: analysis. Reads no file. Only admitted records count.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from commwall.analysis.platforms import treatments_compared
from commwall.analysis.quantities import Quantity
from commwall.analysis.result import Analysis
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.legs import (
    COMM,
    FULL,
    hidden_share_of,
    without_exchange_s,
)
from commwall.analysis.values.link_fits import LinkFit, fit_link
from commwall.analysis.values.readings import gradient_bytes
from commwall.analysis.values.training import MFU
from commwall.analysis.whatif.assumptions import Facts
from commwall.analysis.whatif.offers import Offer
from commwall.analysis.whatif.trained import Trained, hidden_of, mfu_of
from commwall.model.estimates import Estimate
from commwall.model.update import UPDATE_BYTES, packing_bytes
from commwall.schema.case import CollectivesCase, ModelName, TrainingCase
from commwall.schema.errors import ConfigError

EXCHANGE = Quantity("exchange_busbw_bytes_per_s")
TRANSFORMERS: frozenset[ModelName] = frozenset({"bert", "gpt", "transformer_xl", "vit"})
"""Families of equal layers of one width, as those that `whatif` has formulas for. Convolutions, and
Swin with its windows and stages, reach another MFU on the same GPU."""
LEAST_EXCHANGE = 0.05
"""Chosen: of a step. What is hidden of less is the difference of nearly equal times."""
PARAMETER_BYTES = 4
"""Of a parameter and its gradient: weights stay in float32 whatever the precision."""


@dataclass(frozen=True)
class Calibration:
    """What one campaign measured; no entry where it did not."""

    campaign: str
    trained: tuple[Trained, ...]
    """Of transformers, or of the one case that was asked for."""
    links: dict[str, Offer]
    """Platform -> its link."""
    compared: tuple[str, ...]
    """Those of comparisons that are no controls: links to compare where none is named."""
    gpus: tuple[str, ...]
    """Names of the GPUs that were measured."""

    @property
    def models(self) -> dict[str, str]:
        """Training case -> its model."""
        return {each.case: each.model for each in self.trained}

    def is_of(self, kind: str, facts: Facts) -> bool:
        """Whether it measured GPUs of a kind."""
        return bool(set(self.gpus) & set(facts.gpus.root[kind].names))

    def mfu(self, model: str | None, flops: float) -> Estimate | None:
        """MFU of forward and backward pass, as `commwall.analysis.whatif.trained` tells it."""
        return self._told(mfu_of(self.trained, model, flops))

    def links_for(self, model: str | None, ranks: int) -> dict[str, Offer]:
        """Its links with the overlap of a model, for so many GPUs of a node."""
        return {
            platform: replace(
                link, overlap=self._told(hidden_of(self.trained, model, platform))
            ).among(ranks)
            for platform, link in self.links.items()
        }

    def _told(self, estimate: Estimate | None) -> Estimate | None:
        """An estimate whose words name the campaign."""
        if estimate is None:
            return None
        return replace(estimate, basis=f"{estimate.basis}, in {self.campaign}")


def calibrate(analysis: Analysis, case: str | None = None) -> Calibration:
    """Gather what a campaign measured.

    Args:
        analysis: of the campaign.
        case: the only training case to take compute and overlap from; None is all transformers.

    Raises:
        ConfigError: if the campaign has no admitted record of that case.
    """
    cells = [cell for cell in analysis.cells if not cell.refusals]
    wanted = _is_transformer if case is None else _is_case(cells, case)
    trained = [cell for cell in cells if wanted(cell)]
    links = dict(_links(cells, trained, analysis))
    real = treatments_compared(analysis.plan)
    return Calibration(
        campaign=analysis.campaign,
        trained=tuple(each for cell in trained for each in _trained(cell, analysis)),
        links=links,
        compared=tuple(n for n in links if any(n in (each.a, each.b) for each in real)),
        gpus=tuple(dict.fromkeys(name for cell in cells for name in gpu_names(cell))),
    )


def gpu_names(cell: Cell) -> tuple[str, ...]:
    """Names of the GPUs of a record."""
    return tuple(gpu.name for gpu in cell.record.machine.gpus)


def _is_transformer(cell: Cell) -> bool:
    case = cell.record.case
    return isinstance(case, TrainingCase) and case.model in TRANSFORMERS


def _is_case(cells: Iterable[Cell], case: str) -> Callable[[Cell], bool]:
    """Whether a record is of the case that was asked for, which must be among them."""
    trained = (cell.record.id for cell in cells if isinstance(cell.record.case, TrainingCase))
    known = dict.fromkeys(each.case for each in trained)
    if case not in known:
        raise ConfigError(
            "no such case was measured", where="--case", found=case,
            expected=f"one of {', '.join(known)}" if known else "a campaign with training",
        )  # fmt: skip
    return lambda cell: cell.record.id.case == case


def _trained(cell: Cell, analysis: Analysis) -> Iterator[Trained]:
    case, runtime, values = cell.record.case, cell.record.software.runtime, cell.derived.values
    if not isinstance(case, TrainingCase) or not runtime or not runtime.step_flops:
        return
    too_short = values.get(COMM, 0.0) < LEAST_EXCHANGE * values.get(FULL, 0.0)
    yield Trained(
        case=cell.record.id.case,
        model=f"{case.model}-{case.preset}",
        platform=cell.record.id.platform,
        flops=runtime.step_flops,
        mfu=_compute_mfu(cell, analysis),
        hidden=None if too_short else hidden_share_of(cell),
    )


def _compute_mfu(cell: Cell, analysis: Analysis) -> float | None:
    """MFU of forward and backward pass, if update and packing run at the memory's nominal rate.

    So that a step of the model is the measured one; without leg packed, overlap has the packing.
    """
    values, alone_s = cell.derived.values, without_exchange_s(cell)
    own = analysis.facts.gpus.of_all(gpu_names(cell))
    rate = own.memory_bytes_per_s if own else None
    if not alone_s or not rate or not {MFU, FULL} <= values.keys():
        return None
    gradients = gradient_bytes(cell.record)
    moved = UPDATE_BYTES * gradients / PARAMETER_BYTES + packing_bytes(gradients)
    return values[MFU] * values[FULL] / (alone_s - float(moved) / rate.value)


def _links(
    cells: Sequence[Cell], trained: Sequence[Cell], analysis: Analysis
) -> Iterator[tuple[str, Offer]]:
    """The link of each platform with a line through its all-reduces."""
    for platform, name in analysis.names.items():
        own = [cell for cell in cells if cell.record.id.platform == platform]
        fits = [fit for cell in own if _plain_all_reduce(cell) for fit in _fits(cell)]
        values = [c.derived.values for c in trained if c.record.id.platform == platform]
        exchanges = [each[EXCHANGE] for each in values if EXCHANGE in each]
        if fits:
            campaign = analysis.campaign
            offer = _offer(name, fits, exchanges, own[0].record.platform.world_size, campaign)
            yield platform, replace(offer, joins=_domain(own[0], analysis))


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
    name: str, fits: Sequence[LinkFit], exchanges: Sequence[float], ranks: int, campaign: str
) -> Offer:
    """Rates from the exchange of DDP's buckets to the lines' ends; latency of one ring step."""
    rates = [*exchanges, *(fit.bytes_per_s for fit in fits)]
    latencies = [fit.latency_s / (2 * (ranks - 1)) for fit in fits]
    words = f"lines through all-reduces and exchange of buckets among {ranks} GPUs in {campaign}"
    return Offer(
        name,
        Estimate(min(rates), max(rates), "measured", words),
        Estimate(min(latencies), max(latencies), "measured", words),
        measured_ranks=ranks,
    )


def _domain(cell: Cell, analysis: Analysis) -> int | None:
    """GPUs that a measured NVLink joins; None for a link that joins any number."""
    if cell.record.platform.path != "nvlink":
        return None
    kinds = [analysis.facts.gpus.of(name) for name in gpu_names(cell)]
    known = [kind.nvlink_domain.value for kind in kinds if kind and kind.nvlink_domain]
    return min(known, default=cell.record.platform.world_size)
