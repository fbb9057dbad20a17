"""Kernels that must be compiled before anything is timed.

Layer: measure. Reads and writes `.cw/kernels/ready/`, one empty file a case. The compiler tries
which variant of a kernel is fastest and keeps its choice; launches that choose for themselves may
run different kernels, by which two platforms of a round would differ without any link.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from commwall.measure.assembly import Setting
from commwall.measure.tally import Visit
from commwall.records.layout import Layout
from commwall.schema.base import digest
from commwall.schema.case import COMPILING, Case, StepMode, TrainingCase
from commwall.schema.inference import InferenceCase
from commwall.schema.mitigation import StepCase
from commwall.schema.plan import PlannedPlatform

PLACE_VARIABLE = "TORCHINDUCTOR_CACHE_DIR"
"""Where the user has the compiler keep its kernels, if elsewhere."""


class Kernels:
    """What is compiled already, for one run of the verb.

    Args:
        root: the checkout.
        setting: what all launches share.
    """

    def __init__(self, root: Path, setting: Setting) -> None:
        self._folder = Layout(root).kernels_dir() / "ready"
        self._setting = setting
        self._asked: set[Path] = set()

    def missing(self, visit: Visit) -> tuple[str, ...]:
        """Cases of a visit that must still be compiled, one for all that have the same kernels.

        The link plays no part: what one platform has compiled serves others of its size.
        """
        platform = self._setting.plan.platform(visit.platform)
        names = [name for name in visit.cases if self._lacks(name, platform)]
        lacking: dict[Path, str] = {}
        for name in names:
            lacking.setdefault(self._file(name, platform), name)
        self._asked.update(lacking)
        return tuple(lacking.values())

    def note(self, visit: Visit, cases: Iterable[str]) -> None:
        """Kernels of these cases are there."""
        platform = self._setting.plan.platform(visit.platform)
        self._folder.mkdir(parents=True, exist_ok=True)
        for name in cases:
            self._file(name, platform).touch()

    def _lacks(self, name: str, platform: PlannedPlatform) -> bool:
        case, file = self._case(name), self._file(name, platform)
        compiled = bool(COMPILING & _modes(case))
        return compiled and file not in self._asked and not file.exists()

    def _case(self, name: str) -> Case:
        return self._setting.plan.suite(self._setting.suite).cases[name]

    def _file(self, name: str, platform: PlannedPlatform) -> Path:
        """Named by all that a compiled kernel depends on."""
        software = self._setting.software
        key = {
            "case": compiled_part(self._case(name)),
            "device": platform.device,
            "world_size": platform.world_size,
            "gpus": [gpu.name for gpu in self._setting.machine.facts.gpus],
            "packages": software.packages_digest,
            "code": software.code_digest,
            "place": os.environ.get(PLACE_VARIABLE),
        }
        return self._folder / digest(key)


def compiled_part(case: Case) -> dict[str, Any]:
    """What of a case its kernels depend on; of a mitigation that is the batch and the step mode."""
    if isinstance(case, StepCase):
        own = {"mode": case.mitigated_mode, "batch_times": case.mitigation.batch_times}
        return case.identity | own
    return case.model_dump(mode="json", exclude={"windows", "legs"})


def _modes(case: Case) -> set[StepMode]:
    """How the steps of a case are run."""
    if isinstance(case, StepCase):
        return {case.step_mode, case.mitigated_mode}
    return {case.step_mode} if isinstance(case, TrainingCase | InferenceCase) else set()
