"""A wall clock that was set back: files that a workflow made earlier, and that are newer than now.

Layer: host. Changes the times of files below `.cw/`, `.envs/` and `results/`, never their content.
A workflow compares times of files. What was made before the clock was set back would count as
newer than everything made since, and work that is due would pass for done.
"""

import os
from pathlib import Path

MADE = (
    *(".cw/**/*", ".envs/*/manifest.json", "results/*/attempts/*", "results/*/index.json"),
    *("results/*/tables/*", "results/*/notebooks/*", "results/pages/*", "results/site/index.html"),
)
"""Files that decide by their time what a workflow does."""
PROBE_NAME = ".cw/now"
BEFORE_NS = 10**9
"""So long ago the newest of them was made afterwards [ns]."""
APART_NS = 1000
"""Between two of them that had different times [ns]."""


def settle_future(root: Path) -> int:
    """Give files from the future a time shortly before now, in the order that they had.

    Now is what the file system says, whose clock may be another machine's.

    Args:
        root: the checkout.

    Returns:
        How many files had their time changed.

    Raises:
        OSError: if the file system refuses.
    """
    now_ns = _now_ns(root / PROBE_NAME)
    paths = {path for pattern in MADE for path in root.glob(pattern) if path.is_file()}
    times_ns = {path: path.stat().st_mtime_ns for path in paths}
    future = sorted({time_ns for time_ns in times_ns.values() if time_ns > now_ns})
    newest_ns = now_ns - BEFORE_NS
    settled = {old: newest_ns - APART_NS * place for place, old in enumerate(reversed(future))}
    late = [path for path in paths if times_ns[path] in settled]
    for path in late:
        os.utime(path, ns=(settled[times_ns[path]],) * 2)
    return len(late)


def _now_ns(probe: Path) -> int:
    probe.parent.mkdir(exist_ok=True)
    probe.touch()
    now_ns = probe.stat().st_mtime_ns
    probe.unlink()
    return now_ns
