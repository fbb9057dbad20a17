"""Rows as a table.

Layer: analysis. Reads and writes no file.
"""

from collections.abc import Iterable, Mapping

import pandas as pd

from commwall.analysis.tables.rows import Row


def frame(rows: Iterable[Row], columns: Mapping[str, str]) -> pd.DataFrame:
    """A table of these columns, name -> type; what a row does not tell is missing in it."""
    return pd.DataFrame(list(rows), columns=list(columns)).astype(dict(columns))
