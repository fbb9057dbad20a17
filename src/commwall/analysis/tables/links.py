"""Tables on links: latency and rate by their collectives, and what NCCL chose.

Layer: analysis. Reads no file.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from commwall.analysis.result import Analysis
from commwall.analysis.tables.rows import Row, mean_columns, platform_columns, round_columns
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.link_fits import LinkFit, fit_link
from commwall.language.translate import clauses
from commwall.schema.case import CollectivesCase
from commwall.schema.collective import wire_share
from commwall.schema.record import Record


def link_rows(analysis: Analysis) -> Iterator[Row]:
    """Table `links`: one row for each collective and platform with admitted rounds."""
    admitted = [cell for cell in analysis.cells if not cell.refusals and _measured(cell.record)]

    def key(cell: Cell) -> tuple[str, str]:
        return cell.record.id.case, cell.record.id.platform

    for _, cells in groupby(sorted(admitted, key=key), key=key):
        yield _link_row(list(cells), analysis)


def choice_rows(analysis: Analysis) -> Iterator[Row]:
    """Table `choices`: what NCCL chose, by platform, case, round and size."""
    for cell in analysis.cells:
        for choice in cell.record.nccl_choices:
            yield {
                **platform_columns(cell.record, analysis),
                **round_columns(cell.record),
                **choice.model_dump(),
            }


def _measured(record: Record) -> bool:
    return isinstance(record.case, CollectivesCase) and record.status.state == "ok"


def _link_row(cells: Sequence[Cell], analysis: Analysis) -> Row:
    record = cells[0].record
    case = record.case
    assert isinstance(case, CollectivesCase)
    found = [fit_link(cell.record) for cell in cells]
    fits = [fit for fit in found if isinstance(fit, LinkFit)]
    reasons = dict.fromkeys(reason for reason in found if isinstance(reason, str))
    return {
        **platform_columns(record, analysis),
        "collective": case.collective,
        "dtype": case.dtype,
        "in_place": case.in_place,
        "wire_share": wire_share(case.collective, record.platform.world_size),
        "n": len(fits),
        "confidence": analysis.confidence,
        **_summary("link_latency", "s", [fit.latency_s for fit in fits], analysis),
        **_summary("link_rate", "bytes_per_s", [fit.bytes_per_s for fit in fits], analysis),
        **_range(fits),
        "reason": clauses(reasons) or None,
    }


def _summary(name: str, unit: str, values: Sequence[float], analysis: Analysis) -> Row:
    names = (f"{name}_{unit}", f"{name}_low_{unit}", f"{name}_high_{unit}")
    return mean_columns(names, values, analysis) if values else {}


def _range(fits: Iterable[LinkFit]) -> Row:
    """Sizes between which the lines hold, and the worst misfits of any round."""
    own = list(fits)
    if not own:
        return {}
    misfit, size = max((fit.worst for fit in own), key=lambda worst: abs(worst[0]))
    return {
        "smallest_bytes": min(fit.sizes[0] for fit in own),
        "largest_bytes": max(fit.sizes[-1] for fit in own),
        "misfit_percent": 100 * misfit,
        "misfit_bytes": size,
        "misfit_at_largest_percent": 100 * max((fit.misfits[-1] for fit in own), key=abs),
    }
