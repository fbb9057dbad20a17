"""The ranks of a launch: how they meet, agree and exchange what they found.

Layer: workers. Reads and writes the launch's rendezvous file. Three ways to talk, apart on
purpose: the measured process group (emulated link, gloo or NCCL); a small gloo group for
agreements while measuring, which the link neither delays nor counts; and a store, for
everything that must not be a collective. The store's server listens where torchrun's does: on the
loopback, or on the first of several nodes at the address by which the others reach it.
"""

import os
import socket
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import LaunchRequest
from commwall.schema.treatment import EmulatedLink, NcclVariables
from commwall.workers import links
from commwall.workers.lanes import LinkCounters
from commwall.workers.outcomes import Unsupported

_AS_LONG_AS_THE_SUPERVISOR_ALLOWS = timedelta(days=7)


class Group:
    """This rank's place among the ranks of the launch."""

    def __init__(
        self, request: LaunchRequest, rank: int, device: torch.device, store: dist.Store
    ) -> None:
        self.rank = rank
        self.size = request.platform.world_size
        self.device = device
        self.treatment = request.platform.treatment
        self.round = request.round
        self._store = store
        self._control = dist.new_group(
            backend="gloo", timeout=timedelta(seconds=request.collective_timeout_s)
        )

    @property
    def control(self) -> dist.ProcessGroup:
        """The group for agreements: gloo on host memory, neither delayed nor counted."""
        return self._control

    @property
    def link(self) -> LinkCounters | None:
        """Counters of the emulated link, or None where the link is a real one."""
        world = dist.group.WORLD
        return world.counters if isinstance(world, links.EmulatedGroup) else None

    def most(self, value: float) -> float:
        """The largest of the ranks' values; all ranks must ask."""
        return max(self.all(value))

    def least(self, value: float) -> float:
        """The smallest of the ranks' values; all ranks must ask."""
        return min(self.all(value))

    def meet(self) -> None:
        """Have the devices go on together: enqueue the smallest exchange on the measured group."""
        dist.all_reduce(torch.zeros(1, device=self.device))

    def all(self, value: float) -> tuple[float, ...]:
        """The ranks' values in rank order; all ranks must ask."""
        mine = torch.tensor([value], dtype=torch.float64)
        theirs = [torch.empty_like(mine) for _ in range(self.size)]
        dist.all_gather(theirs, mine, group=self._control)
        return tuple(float(each) for each in theirs)

    def texts(self, key: str, text: str) -> tuple[str, ...]:
        """The ranks' texts in rank order, exchanged through the store.

        Blocks without spinning until every rank has given its own; a rank that ends before
        it does has torchrun end this one, too.
        """
        self._store.set(f"{key}/{self.rank}", text)
        keys = [f"{key}/{rank}" for rank in range(self.size)]
        self._store.wait(keys, _AS_LONG_AS_THE_SUPERVISOR_ALLOWS)
        return tuple(self._store.get(each).decode() for each in keys)

    def leave(self) -> None:
        """End the process groups once every rank is through.

        The first rank, whose process keeps the store, goes when no other needs that any more.
        """
        self.texts("leave", "")
        self._store.set(f"left/{self.rank}", "")
        if self.rank == 0:
            left = [f"left/{rank}" for rank in range(self.size)]
            self._store.wait(left, _AS_LONG_AS_THE_SUPERVISOR_ALLOWS)
        dist.destroy_process_group()


def device_of(platform: PlannedPlatform) -> torch.device:
    """The device of this rank.

    Raises:
        Unsupported: if the machine lacks it, or cannot treat its link as asked.
    """
    if platform.device == "cpu":
        if isinstance(platform.treatment, NcclVariables):
            raise _unsupported(platform, "treatment nccl on device cpu", "device cuda")
        return torch.device("cpu")
    if isinstance(platform.treatment, EmulatedLink):
        raise _unsupported(platform, "treatment emulated on device cuda", "device cpu")
    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if found < platform.per_node:
        needed = f"{platform.per_node}, one a rank"
        raise _unsupported(platform, f"{found} CUDA device(s) seen by torch", needed)
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    return device


def join(request: LaunchRequest) -> Group:
    """Meet the other ranks of the launch.

    Raises:
        Unsupported: if this machine cannot offer the platform.
    """
    device = device_of(request.platform)
    _verify_variables(request.platform)
    rank = int(os.environ["RANK"])
    size = request.platform.world_size
    timeout = timedelta(seconds=request.collective_timeout_s)
    store = _open_store(Path(request.output_dir), rank, size, timeout)
    treatment = request.platform.treatment
    if isinstance(treatment, EmulatedLink):
        backend = links.register(treatment)
    else:
        backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(
        backend,
        store=store,
        rank=rank,
        world_size=size,
        timeout=timeout,
        device_id=device if device.type == "cuda" else None,
    )
    return Group(request, rank, device, dist.PrefixStore("commwall", store))


def _open_store(folder: Path, rank: int, size: int, timeout: timedelta) -> dist.Store:
    """A store whose server, in rank 0, listens where torchrun's does; its port is told by file."""
    address = os.environ["MASTER_ADDR"]
    meeting = dist.FileStore(str(folder.resolve() / "rendezvous.port"), size)
    if rank > 0:
        meeting.set_timeout(timeout)
        port = int(meeting.get("port"))
        return dist.TCPStore(address, port, size, is_master=False, timeout=timeout)
    listener = socket.create_server((address, 0))
    port = listener.getsockname()[1]
    meeting.set("port", str(port))
    return dist.TCPStore(
        address,
        port,
        size,
        is_master=True,
        timeout=timeout,
        wait_for_workers=False,
        master_listen_fd=listener.detach(),
    )


def _verify_variables(platform: PlannedPlatform) -> None:
    """Raise where NCCL would not see the variables of the treatment."""
    if not isinstance(platform.treatment, NcclVariables):
        return
    for name, value in platform.treatment.variables.items():
        if os.environ.get(name) != value:
            raise RuntimeError(
                f"treatment of {platform.name}: {name} is {os.environ.get(name)!r} in the "
                f"worker, expected {value!r}; the supervisor must set it before it starts torchrun"
            )


def _unsupported(platform: PlannedPlatform, found: str, expected: str) -> Unsupported:
    return Unsupported(
        f"this machine cannot offer platform {platform.name}",
        where=f"platform {platform.name}, world_size {platform.world_size}",
        found=found,
        expected=expected,
        next_step="measure it on a machine that has it, or take it out of the campaign",
    )
