"""Threads that read the GPUs of a launch through NVML, each at its own pace.

Layer: host. Reads and writes no file. What NVML refuses is kept in its own words, so that what
is missing later has its reason; one refusal stops nothing else.
"""

import itertools
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from commwall.host.background import Background
from commwall.host.gpus import HIDING_VARIABLE, NvmlMissing, opened_nvml, text_of, visible_handles
from commwall.host.secrecy import short_digest
from commwall.schema.result import Gap

LEAST_PAUSE = 0.5
"""A reading that came late is followed by the next no sooner than this part of the period."""
NOT_LOOKED_AT = "not looked at in the window"
LEAST_ANSWERED = 0.9
"""Readings that were answered for less of a window do not speak for the whole [1]."""
Refusals = dict[str, str]
"""What was asked for -> why it was refused, the last time."""


class AskedGpu:
    """One GPU that answers questions, or refuses them.

    Args:
        nvml: the bindings, started.
        handle: of the GPU.
        refusals: takes what it refuses.
    """

    def __init__(self, nvml: Any, handle: Any, refusals: Refusals) -> None:
        self.nvml, self.handle, self.refusals = nvml, handle, refusals

    def ask(self, what: str, function: str, *arguments: Any) -> Any:
        """What a function of NVML answers for this GPU; None if it refuses.

        Args:
            what: under which a refusal is kept.
            function: its name in the bindings.
            arguments: behind the handle.
        """
        return self.call(what, function, self.handle, *arguments)

    def call(self, what: str, function: str, *arguments: Any) -> Any:
        """The same of a function that is not given the handle first."""
        called = getattr(self.nvml, function, None)
        if called is None:
            self.refusals[what] = f"the installed bindings of NVML lack {function}"
            return None
        try:
            return called(*arguments)
        except self.nvml.NVMLError as error:
            self.refusals[what] = f"NVML: {error}"
            return None

    def refused(self, what: str, code: int) -> None:
        """Keep a refusal that came as a number within an answer."""
        said = self.call(what, "nvmlErrorString", code)
        self.refusals[what] = f"NVML: {text_of(said) if said else f'error {code}'}"


class NvmlReader(Background):
    """Reads GPUs in a thread while it is entered.

    Args:
        name: of the thread.
        digests: of the uuids of the GPUs, in rank order.
        root: where /proc hangs; another folder in tests.
        period_s: between two readings [s].
    """

    def __init__(self, name: str, digests: Sequence[str], root: Path, period_s: float) -> None:
        self._digests, self._root, self._period_s = tuple(digests), root, period_s
        self.reason: str | None = None
        """Why nothing could be read; None if it could."""
        self.refusals: tuple[Refusals, ...] = tuple({} for _ in digests)
        """Of each GPU."""
        super().__init__(name)

    def read_gpus(self, gpus: Sequence[AskedGpu]) -> None:
        """Read the GPUs, in rank order, at every tick."""
        raise NotImplementedError

    def read_on(self) -> None:
        """Open NVML, find the GPUs and read them."""
        try:
            with opened_nvml(self._root) as nvml:
                self.reason = self._read(nvml)
        except NvmlMissing as missing:
            self.reason = missing.reason

    def _read(self, nvml: Any) -> str | None:
        try:
            handles = handles_of(nvml, self._digests)
        except nvml.NVMLError as error:
            return f"NVML does not tell which GPUs there are: {error}"
        if len(handles) < len(self._digests):
            return "NVML does not show every GPU of the launch any more"
        pairs = zip(handles, self.refusals, strict=True)
        self.read_gpus([AskedGpu(nvml, handle, refusals) for handle, refusals in pairs])
        return None

    def ticks(self) -> Iterator[int]:
        """Numbers from 0 on, one a period, until it is time to stop."""
        due_s = time.monotonic()
        for number in itertools.count():
            yield number
            now_s = time.monotonic()
            due_s = max(due_s + self._period_s, now_s + LEAST_PAUSE * self._period_s)
            if self.stopped_after(due_s - now_s):
                return


def handles_of(nvml: Any, digests: Sequence[str]) -> list[Any]:
    """NVML's handles of GPUs known by the digests of their uuids, in that order."""
    handles = visible_handles(nvml, os.environ.get(HIDING_VARIABLE))
    known = {short_digest(text_of(nvml.nvmlDeviceGetUUID(handle))): handle for handle in handles}
    return [known[digest] for digest in digests if digest in known]


def visible_gpus(nvml: Any) -> list[AskedGpu]:
    """The GPUs that CUDA shows, to be asked."""
    handles = visible_handles(nvml, os.environ.get(HIDING_VARIABLE))
    return [AskedGpu(nvml, handle, {}) for handle in handles]


def merged_gaps(reasons: Sequence[dict[str, str]]) -> tuple[Gap, ...]:
    """Gaps of all ranks; what all lack for one reason is told once, the rest by its rank.

    Args:
        reasons: of each rank, what is absent -> why.
    """
    gaps = []
    for what in dict.fromkeys(itertools.chain(*reasons)):
        own = [each.get(what) for each in reasons]
        if len(set(own)) == 1:
            gaps.append(Gap(what=what, reason=str(own[0])))
        else:
            told = (f"GPU of rank {rank}: {why}" for rank, why in enumerate(own) if why)
            gaps.append(Gap(what=what, reason="; ".join(told)))
    return tuple(gaps)
