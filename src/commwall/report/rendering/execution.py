"""Run a notebook to its end, or end it.

Layer: report. Two processes do it: a Jupyter kernel, which runs the cells, and papermill, which
hands them over. Both begin as copies of this one, for importing what notebooks need takes longer
than running most of them. A copy changes nothing in what it was copied from, so that each notebook
starts from the same state; but a lock that another thread held would stay locked in it, so that
whoever renders has one thread. Nothing of the user's Jupyter set-up takes part, and the folder in
which the two processes meet is gone afterwards.
"""

import ast
import gc
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess, SpawnProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import papermill
from ipykernel.kernelapp import IPKernelApp
from jupyter_client.connect import write_connection_file
from jupyter_client.manager import AsyncKernelManager
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError

from commwall.process import die_with_parent
from commwall.schema.errors import CommwallError

Parameters = Mapping[str, str | float]
PRIVATE = ("JUPYTER_PATH", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
"""Variables that name the folders of a user's Jupyter set-up."""
Process = ForkProcess if sys.platform == "linux" else SpawnProcess
"""Libraries of other systems do not bear to be copied in use: there everything is imported anew."""


class RenderError(CommwallError):
    """A notebook that does not exist, takes other parameters, or did not run to its end."""


class RunningKernel(AsyncKernelManager):
    """A kernel that another process has started and watches."""

    @property
    def has_kernel(self) -> bool:
        """There is none to be started."""
        return True


def execute(
    node: NotebookNode, parameters: Parameters, root: Path, source: str, timeout_s: float
) -> NotebookNode:
    """Run all cells of a notebook.

    Args:
        node: the notebook.
        parameters: values for its cell tagged `parameters`.
        root: folder that its cells run in.
        source: the notebook's file, for errors.
        timeout_s: longest time that it may take [s].

    Returns:
        The notebook with what its cells show.

    Raises:
        RenderError: if a cell fails, the kernel dies or the time is over.
    """
    _import_what_cells_import(node)
    with tempfile.TemporaryDirectory(prefix="commwall-render-") as folder:
        outcome = _outcome(Path(folder), node, parameters, root, timeout_s)
    if outcome is None:
        raise RenderError(
            "a notebook did not end in time",
            where=source,
            found=f"still running after {timeout_s:g} s",
            next_step="look for a cell that waits, or allow more with --timeout",
        )
    if isinstance(outcome, str):
        raise RenderError("a notebook failed", where=source, found=outcome)
    return outcome


def _import_what_cells_import(node: NotebookNode) -> None:
    """Import it here, once for all copies; what cannot be imported fails in its cell."""
    gc.disable()  # what is loaded stays: to look for garbage there takes a tenth of the time
    for cell in node.cells:
        with suppress(SyntaxError, ImportError):
            body = ast.parse(cell.source).body if cell.cell_type == "code" else []
            imports = [item for item in body if isinstance(item, ast.Import | ast.ImportFrom)]
            exec(compile(ast.Module([*imports], []), "imports", "exec"), {})
    gc.freeze()
    gc.enable()


def _outcome(
    folder: Path, node: NotebookNode, parameters: Parameters, root: Path, timeout_s: float
) -> NotebookNode | str | None:
    """The executed notebook, or why there is none; None if the time is over."""
    connection = str(folder / "kernel.json")
    write_connection_file(connection, transport="ipc", ip=str(folder / "kernel"))
    with _process(folder, _be_kernel, connection, root) as kernel:
        ours, theirs = Pipe(duplex=False)
        with _process(folder, _run_papermill, connection, node, parameters, theirs):
            theirs.close()  # so that papermill alone holds it, and closes it when it ends
            ready = wait([ours, kernel.sentinel], timeout_s)
            if ours in ready:
                return _received(ours)
            if not ready:
                return None
            kernel.join()
            return f"Kernel died, exit code {kernel.exitcode} (below 0: the signal that killed it)"


def _received(answer: Connection) -> NotebookNode | str:
    try:
        outcome: NotebookNode | str = answer.recv()
    except EOFError:
        return "papermill ended without an answer; what it said stands above"
    return outcome


@contextmanager
def _process(folder: Path, target: Callable[..., None], *arguments: Any) -> Iterator[BaseProcess]:
    """A process that does one thing, until the block ends or this process does."""
    process = Process(target=_begin, args=(os.getpid(), folder, target, arguments))
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _begin(
    parent_pid: int, folder: Path, target: Callable[..., None], arguments: tuple[Any, ...]
) -> None:
    """Begin a process as if a shell had started it, but tied to its parent."""
    die_with_parent(signal.SIGKILL, parent_pid)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, too
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    os.environ |= dict.fromkeys(PRIVATE, str(folder)) | {"JUPYTER_NO_CONFIG": "1"}
    target(*arguments)


def _be_kernel(connection: str, root: Path) -> None:
    os.chdir(root)
    IPKernelApp.launch_instance(argv=[], connection_file=connection, parent_handle=os.getppid())


def _run_papermill(
    connection: str, node: NotebookNode, parameters: Parameters, answer: Connection
) -> None:
    """Answer with the executed notebook, or with the error of the cell that failed."""
    kernel = RunningKernel(owns_kernel=False)
    kernel.load_connection_file(connection)
    try:
        executed = papermill.execute_notebook(
            node, None, dict(parameters), km=kernel, kernel_name="python3", language="python",
            progress_bar=False,
        )  # fmt: skip
    except PapermillExecutionError as error:
        # Papermill counts from 0, and has put one cell in before those that can fail.
        answer.send(f"cell {error.cell_index}: {error.ename}: {error.evalue}")
    else:
        answer.send(executed)
