"""Default signals for the processes that tests start, and reports about processes that do not end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

# Seconds to wait for anything that a process does. The limit only ends waits that would last forever, so it is far
# longer than anything takes on a busy machine with one core.
PATIENCE = 180.0

# Popen itself restores these signals (`restore_signals`).
_RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)

# Bytes of a process's output to show.
_SAID = 4000

# Characters of a process's stacks to show.
_LONGEST = 64 << 10


def _does_nothing(*_: object) -> None:
    pass


def have_default_signals() -> None:
    """Makes every process that this one starts from now on begin with the default action for each signal and without
    blocked signals.

    nohup(1) ignores SIGHUP, and a shell ignores SIGINT in background processes. A child inherits that, and a test that
    sends this signal to the child would wait in vain. In this process, a handler that does nothing has the effect of
    ignoring the signal, and no process inherits handlers (execve(2)). Popen closes descriptors above the standard streams.
    """
    for number in signal.valid_signals():
        if signal.getsignal(number) == signal.SIG_IGN and number not in _RESTORED:
            signal.signal(number, _does_nothing)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def finish(process: subprocess.Popen[bytes], patience: float = PATIENCE) -> subprocess.CompletedProcess[bytes]:
    """Waits for the end of a process whose output and errors are pipes. If the process does not end in time, raises
    AssertionError with its output and with the places where it and its children are, after killing all of them."""
    try:
        output, errors = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        present, family = describe(process.pid), [process.pid, *descendants(process.pid)]
        for one in family:
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                pass
        output, errors = process.communicate()
        said = (output + errors)[-_SAID:].decode(errors="replace")
        raise AssertionError(f"{process.args!r} did not end within {patience:.0f} s\n{present}\nit has said: {said}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def describe(process: int) -> str:
    """Describes a process and all its descendants: command lines, states, and the place where each thread is."""
    return "\n".join(_describe(one) for one in [process, *descendants(process)])


def descendants(process: int) -> list[int]:
    """All processes below one, each after its parent."""
    found: list[int] = []
    for tasks in Path("/proc", str(process), "task").glob("*/children"):
        for child in map(int, _read(tasks).split()):
            found += [child, *descendants(child)]
    return found


def _describe(process: int) -> str:
    place = Path("/proc", str(process))
    lines = [f"process {process}: {_read(place / 'cmdline').replace(chr(0), ' ')}"]
    for task in sorted(place.glob("task/*")):
        state = _read(task / "stat").rpartition(") ")[2][:1]
        where = f"state {state}, in {_read(task / 'wchan')}, system call {_read(task / 'syscall').strip()}"
        lines.append(f"  thread {task.name} {_read(task / 'comm').strip()!r}, {where}")
        # Only root may read the stack of a thread.
        lines += [f"    {line}" for line in _read(task / "stack").splitlines()]
    return "\n".join([*lines, _stacks(process)])


def _stacks(process: int) -> str:
    """The stacks that the first installed debugger shows."""
    debuggers = (
        ("eu-stack", "-p"),
        ("gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "thread apply all backtrace 60", "-p"),
    )
    command = next((words for words in debuggers if shutil.which(words[0])), None)
    if command is None:
        return "  install eu-stack(1) or gdb(1) to see where its threads are"
    try:
        done = subprocess.run(
            [*command, str(process)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"  {command[0]} did not end"
    text = done.stdout.decode(errors="replace")[:_LONGEST]
    return "\n".join([f"  by {command[0]}:", *(f"    {line}" for line in text.splitlines())])


def _read(path: Path) -> str:
    """The content of a file, or an empty text if the process has ended or may not be examined."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
