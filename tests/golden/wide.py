"""Writes the golden campaign of more workloads, planned from `config/campaigns/h200x2-wide.yaml`.

On it is tried what `h200x2-wide` will tell once it is measured: cases, platforms and rounds are
those of the file, the machine is imagined. Times by platform [ms]:

| | NVLink | host-staged | predicted over NVLink | predicted host-staged |
|---|---|---|---|---|
| training, cases of EXACT | 14 | 17 | 14 | 17 |
| training, all others | 14 | 18 | 15 | 17 |
| strategy tensor | 10 | 40 | | |
| all other strategies | 10 | 11 | | |
| prompts | 10 | 20 | | |
| a token | 2 | 3 | | |

Training is as in `tests.golden.steps`; the optimiser of most cases takes longer host-staged. In
round 2 everything takes 1 % longer, in round 3 less by the same factor; strategies and inference
host-staged 2 %, so that the ratios of the rounds differ by 1 %.
"""

from collections.abc import Iterable
from pathlib import Path

from commwall.measure.planning.configuration import load_campaigns
from commwall.measure.planning.freezing import build_plan
from commwall.records.layout import Layout
from commwall.schema.case import Case, CollectivesCase, TrainingCase
from commwall.schema.inference import InferenceCase
from commwall.schema.plan import Plan
from commwall.schema.record import GpuFacts, MachineFacts, Record
from commwall.schema.result import Series
from commwall.schema.strategies import StrategiesCase
from tests import samples
from tests.golden import splits, steps
from tests.golden.planned import planned_record, planned_records

ROOT = Path(__file__).parents[2]
CAMPAIGN = "h200x2-wide"
NVLINK, STAGED = "h200x2-nvlink", "h200x2-hoststaged"
AS_STEPS = {NVLINK: steps.NVLINK, STAGED: steps.STAGED}
"""Platform of the campaign -> the golden one that it is like."""
EXACT = ("vit-base-16-b16", "unet3d-b2")
SPLIT_MS = {NVLINK: 10.0, STAGED: 11.0}
TENSOR_MS = {NVLINK: 10.0, STAGED: 40.0}
PREFILL_MS = {NVLINK: 10.0, STAGED: 20.0}
TOKEN_MS = {NVLINK: 2.0, STAGED: 3.0}
MACHINE = MachineFacts(
    fingerprint="655c9664" + "0" * 56,
    cpu_model="Golden CPU",
    cpu_count=32,
    gpus=(GpuFacts(name="NVIDIA H200", uuid_digest="0" * 12, memory_bytes=2**37),) * 2,
    link_matrix=(("X", "NV18"), ("NV18", "X")),
    peer_access=True,
)


def plan() -> Plan:
    """The plan of the campaign file on two H200."""
    (asked,) = load_campaigns(ROOT, [CAMPAIGN])
    return build_plan(asked, MACHINE, "an imagined machine with 2 H200")


def write_campaign(root: Path) -> Layout:
    """Write plan, records and index below `root`."""
    golden = plan()
    (rounds,) = {suite.rounds for suite in golden.suites}

    def record(name: str, case: str, round_: int) -> Record:
        return _record(golden, name, case, round_)

    layout = samples.write_campaign(root, golden, planned_records(golden, rounds, record))
    samples.write_index(layout, golden.id)
    return layout


def _record(golden: Plan, name: str, case: str, round_: int) -> Record:
    own = planned_record(golden, name, case, round_, machine=MACHINE)
    runtime = own.software.runtime
    assert runtime is not None
    on_gpus = {"device_names": ("NVIDIA H200",) * 2, "bucket_bytes": steps.BUCKETS}
    ran = own.software.model_copy(update={"runtime": runtime.model_copy(update=on_gpus)})
    series = tuple(_series(name, case, own.case, steps.FACTOR[round_ - 1]))
    return own.model_copy(update={"software": ran, "series": series}).sealed()


def _series(name: str, case: str, what: Case, factor: float) -> Iterable[Series]:
    if isinstance(what, TrainingCase):
        like = steps.AS_MODELLED if case in EXACT else steps.OPTIMISER
        yield from steps.trained(AS_STEPS[name], like, factor)
    elif isinstance(what, CollectivesCase):
        sizes = what.message_sizes(2)
        yield from steps.swept(AS_STEPS[name], sizes, factor, beside=what.beside is not None)
    else:
        yield from _split(name, what, factor**2 if name == STAGED else factor)


def _split(name: str, what: Case, factor: float) -> Iterable[Series]:
    """Times of a strategy or of a decoder."""
    if isinstance(what, StrategiesCase):
        tensor = what.strategy == "tensor"
        yield from splits.times("step_time_s", factor * (TENSOR_MS if tensor else SPLIT_MS)[name])
    else:
        assert isinstance(what, InferenceCase)
        yield from splits.times("prefill_time_s", factor * PREFILL_MS[name])
        yield from splits.times("token_time_s", factor * TOKEN_MS[name])
