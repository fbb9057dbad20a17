"""What the legs of a training record say together: compute, exchange, and what was hidden of it.

Layer: analysis. Reads no file.
"""

from commwall.analysis.quantities import OVERLAP, step_time
from commwall.analysis.values.cells import Cell
from commwall.model.overlap import hidden_share

FULL, PACKED, COMM = step_time("full"), step_time("packed"), step_time("comm")


def without_exchange_s(cell: Cell) -> float | None:
    """Step without exchange, the packing of buckets included where it was measured [s]."""
    values = cell.derived.values
    return values.get(PACKED) or values.get(step_time("nosync"))


def hidden_share_of(cell: Cell) -> float | None:
    """Overlap of a record as `commwall.model.overlap` defines it.

    None where a leg lacks, and where its legs cannot be compared.
    """
    values, alone_s = cell.derived.values, without_exchange_s(cell)
    if alone_s is None or not {FULL, COMM, OVERLAP} <= values.keys():
        return None
    return hidden_share(alone_s, values[COMM], values[FULL] - alone_s)
