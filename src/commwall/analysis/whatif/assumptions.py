"""What models of a step start from where no campaign says it: facts on file.

Layer: analysis. Reads `modelling.yaml`, `presets.yaml` and `models.yaml` of `config/facts`, and
those of GPUs and links through `commwall.judge.facts` and `commwall.records.hardware`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from commwall.judge.facts import JudgeFacts, read_facts
from commwall.model.workload import Experts, Workload
from commwall.records.hardware import read_hardware
from commwall.schema.errors import ConfigError
from commwall.schema.facts import FiguresFile, GpuFactsFile, GpuPeaks
from commwall.schema.modelling import Modelling, Preset, PresetsFile
from commwall.schema.parsing import parse_model, parse_yaml
from commwall.schema.suggestion import suggestion

FOLDER = Path("config/facts")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Facts:
    """Everything on file that a model may start from."""

    gpus: GpuFactsFile
    """Peaks and memory."""
    links: JudgeFacts
    """How GPUs are linked, and what collectives reach."""
    modelling: Modelling
    presets: dict[str, Preset]
    models: FiguresFile

    @property
    def complete(self) -> tuple[str, ...]:
        """Kinds of GPUs of which peak and memory are on file."""
        return tuple(kind for kind, peaks in self.gpus.root.items() if _complete(peaks))

    def gpu(self, word: str) -> tuple[str, GpuPeaks]:
        """A kind of GPU by its key, or by the only key that begins with the word.

        Raises:
            ConfigError: if there is none, or several; or if its peak or memory is not on file.
        """
        known = self.gpus.root
        found = [word] if word in known else [key for key in known if key.startswith(f"{word}-")]
        if len(found) != 1:
            raise ConfigError(
                "no such GPU" if not found else "several GPUs have that name",
                where="--gpu",
                found=word if not found else f"{word}: {', '.join(found)}",
                expected=f"one of {', '.join(self.complete)}",
                next_step=suggestion(word, known) if not found else "give the whole name",
            )
        if not _complete(known[found[0]]):
            raise ConfigError(
                "too little is on file of a GPU",
                where="--gpu",
                found=f"{found[0]}: peak in bfloat16 or size of memory is missing",
                expected="both",
                next_step="enter them with their source in config/facts/gpus.yaml",
            )
        return found[0], known[found[0]]

    def preset(self, word: str) -> tuple[Preset, Workload]:
        """A transformer by its name.

        Raises:
            ConfigError: if there is none.
        """
        if word not in self.presets:
            raise ConfigError(
                "no such model",
                found=word,
                expected=f"one of {', '.join(self.presets)}, or --params, --batch and --sequence",
                next_step=suggestion(word, self.presets),
            )
        preset = self.presets[word]
        return preset, self._workload(preset)

    def _workload(self, preset: Preset) -> Workload:
        parameters = self.models.root[preset.parameters].value
        return Workload(
            parameters=parameters,
            layers=preset.layers,
            hidden=preset.hidden,
            heads=preset.heads,
            sequence_length=preset.sequence_length,
            batch_per_gpu=preset.batch_per_gpu,
            micro_batch=preset.micro_batch,
            gradient_bytes=preset.gradient_bytes,
            experts=self._experts(preset, parameters),
            widening=preset.feed_forward / preset.hidden if preset.feed_forward else 4.0,
            gated=preset.gated,
            vocabulary=preset.vocabulary or 0,
        )

    def _experts(self, preset: Preset, parameters: float) -> Experts | None:
        """The experts' parameters follow from those of the model and those that a token uses."""
        number, active, used = preset.experts, preset.active_experts, preset.active_parameters
        if not number or not active or not used:
            return None
        idle = parameters - self.models.root[used].value
        return Experts(number, active, idle / (1 - active / number))


def read_assumptions(root: Path) -> Facts:
    """Read all of it.

    Args:
        root: the checkout.

    Raises:
        ConfigError: if a file is absent or malformed.
    """
    return Facts(
        gpus=read_hardware(root).gpus,
        links=read_facts(root),
        modelling=_read(root, "modelling", Modelling),
        presets=_read(root, "presets", PresetsFile).root,
        models=_read(root, "models", FiguresFile),
    )


def _complete(peaks: GpuPeaks) -> bool:
    return peaks.bfloat16_dense_flops is not None and peaks.memory_bytes is not None


def _read(root: Path, name: str, model: type[M]) -> M:
    where = (FOLDER / f"{name}.yaml").as_posix()
    return parse_model(model, parse_yaml((root / where).read_text(encoding="utf-8"), where), where)
