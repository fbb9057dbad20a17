"""The measured models, one module a family; all offer `build` and `batch` with one signature.

Layer: workers. Reads and writes no file.
"""

from commwall.workers.models import bert

FAMILIES = {"bert": bert}
"""Family -> the module that builds it; kept in step with `commwall.schema.case.PRESETS`."""
