"""The common data of all sets: the options, the program, the directories, and the results so far."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import workspace
from .corpus import Corpus
from .machine import describe
from .options import PROJECT, Options
from .peers import Place, Route
from .processes import Processes
from .program import Program
from .results import Results, Section
from .signals import undisturbed


@dataclass
class Bench:
    """One run of the benchmarks."""

    options: Options
    program: Program
    directory: Path
    """The directory for sources and targets; in memory unless the user chose another one."""

    disk: Path | None
    """A directory on a real file system."""

    processes: Processes
    results: Results

    @staticmethod
    @contextmanager
    def open(options: Options) -> Iterator[Bench]:
        """Makes the directories. At the end, also after an error, stops all processes and removes all directories."""
        program = Program(options.transfer)
        parents = [
            options.directory or workspace.default_parent(),
            options.disk or workspace.default_disk(PROJECT / ".build"),
        ]
        made = [workspace.make_directory(parent) for parent in parents if parent]
        directory, disk = made[0], made[1] if len(made) > 1 else None
        logs = directory / "logs"
        logs.mkdir()
        results = Results(options.command, options.runs, describe(program.version, directory, disk))
        processes = Processes(logs)
        try:
            yield Bench(options, program, directory, disk, processes, results)
        finally:
            with undisturbed():
                processes.stop_all()
                for path in made:
                    workspace.remove(path)

    @property
    def source(self) -> Path:
        """A directory for the files to push. It does not exist until a corpus is made."""
        return self.directory / "source"

    def place(self, corpus: Corpus, target: Path | None = None, route: Route | None = None) -> Place:
        """The place where peers push this corpus: to a new directory beside it and over loopback, unless `target` and
        `route` are given."""
        target = target or self.directory / "target"
        scratch = self.directory / "servers"
        for path in (target, scratch):
            path.mkdir(exist_ok=True)
        return Place(self.processes, scratch, corpus, target, route or Route())

    def add(self, name: str, section: Section) -> None:
        self.results.add(name, section)

    def say(self, text: str) -> None:
        print(text, flush=True)

    def skip(self, name: str, reason: str) -> None:
        self.say(f"{name}: skipped: {reason}")
        self.results.skipped[name] = reason

    def end_set(self) -> None:
        """Stops all processes and removes all files of a set."""
        self.processes.stop_all()
        for path in self.directory.iterdir():
            if path != self.processes.logs:
                workspace.remove(path)
        if self.disk:
            workspace.empty(self.disk)
