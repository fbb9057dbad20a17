"""Communication in a trace of PyTorch's profiler.

Layer: judge. Reads no file.
"""

from collections.abc import Iterator

from commwall.judge.finding import Finding
from commwall.judge.scene import Scene
from commwall.readers.torch_trace import TorchTrace


def communication(scene: Scene) -> Iterator[Finding]:
    """How much of the communication is exposed."""
    for paste, trace in scene.of(TorchTrace):
        if trace.error:
            continue
        if not trace.comm_total_us:
            yield Finding(
                rule="trace_communication",
                level="unknown",
                verdict="no NCCL kernel is in the trace"
                + (f", of a job of {trace.world_size} ranks" if trace.world_size else ""),
                means="communication is unknown, not 0 %: kernels were lost, or another backend "
                "did it",
                next_step="profile with CUDA activities (ProfilerActivity.CUDA) for whole steps",
                evidence=paste.find("distributedInfo|traceEvents"),
            )
            continue
        exposed, total = trace.exposed_comm_us or 0.0, trace.comm_total_us
        span = trace.span_us or 0.0
        yield Finding(
            rule="trace_communication",
            level="note",
            verdict=f"communication takes {total:g} us, {exposed:g} us of it without compute beside"
            + (f" ({exposed / span:.0%} of the {span:g} us)" if span else ""),
            means=f"a faster link can save the exposed part at most; {1 - exposed / total:.0%} is "
            "hidden. Time in a kernel of NCCL contains waiting for slower ranks",
            next_step="commwall measures it by leaving the exchange out (legs full and nosync)",
            evidence=paste.find("(?i)nccl[a-z]*kernel|ncclDev"),
        )
