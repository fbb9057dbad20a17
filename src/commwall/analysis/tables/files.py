"""Tables on disk, in a format for people and one for programs.

Layer: analysis. Writes `results/<campaign>/tables/<name>.csv` and `.parquet`.
"""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from commwall.records.files import PART


def write_tables(tables: Mapping[str, pd.DataFrame], folder: Path) -> tuple[Path, ...]:
    """Write every table as CSV and Parquet.

    Args:
        tables: name -> table.
        folder: where they belong.

    Returns:
        The paths written.

    Raises:
        OSError: if the file system refuses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, table in tables.items():
        written.append(_write(folder / f"{name}.csv", table.to_csv(index=False).encode()))
        written.append(_write(folder / f"{name}.parquet", table.to_parquet(index=False)))
    return tuple(written)


def _write(path: Path, content: bytes) -> Path:
    part = path.with_name(path.name + PART)
    part.write_bytes(content)
    return part.rename(path)
