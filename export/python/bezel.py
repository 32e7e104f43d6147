# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
"""Runs of Bezel in Python: records, tables of an aspect, the run database, the report. Of the standard library alone.

    import bezel
    run = bezel.Run("runs/latest")              # or "tcp://desk:7770", where `bezel serve` serves a run
    for record in run.records(aspect="frame_*", where="latency > 5 ms"):
        print(record["run_time_ns"], record["process"], record["fields"])
    for record in run.records(follow=True):     # those that come, until the run ends
        ...
    frames = run.table("frame_shown")           # columns: frames["run_time_ns"], frames["latency"]
    frames.numpy()                              # of arrays; needs numpy
    frames.pandas()                             # a data frame with the run's time as index; needs pandas
    run.sql("SELECT name, stored FROM books")   # docs/DATABASE.md describes the tables
    run.report()["verdict"]                     # docs/REPORT.md
    run.lost()                                  # {"full": 12, ...}; {} where none is lost

The records come from the program `bezel`, in their order: it is looked for in $BEZEL, then in $PATH. What it has to
say of records that were lost comes as warnings of class LossWarning. Errors are BezelError.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import warnings

__all__ = ["Run", "Table", "BezelError", "LossWarning"]

FIXED = ("node", "process", "pid", "ring", "thread", "thread_name", "time_ns", "run_time_ns", "error_ns")


class BezelError(Exception):
    """What `bezel` says is wrong."""


class LossWarning(UserWarning):
    """Records were lost, or came too late for their place."""


def _program():
    program = os.environ.get("BEZEL") or shutil.which("bezel")
    if not program:
        raise BezelError("there is no program bezel in $PATH: install it, or set BEZEL to its path")
    return program


def _reason(text):
    return text.strip() or "bezel failed without a reason"


class Table:
    """The records of an aspect as columns: lists of one length, by name. A field that a record lacks is None.

    The columns of each record are those of FIXED. A field with the name of one of them is called "field.NAME";
    the later one of two that would be called alike has a number, "field.NAME_2".
    """

    def __init__(self, aspect):
        self.aspect = aspect
        self.columns = {name: [] for name in FIXED}
        self._size = 0
        self._named = {}  # columns of fields

    def __len__(self):
        return self._size

    def __getitem__(self, name):
        return self.columns[name]

    def __iter__(self):
        return iter(self.columns)

    def _column(self, field):
        if field not in self._named:
            name = head = "field." + field if field in FIXED else field
            number = 2
            while name in self.columns:
                name, number = f"{head}_{number}", number + 1
            self.columns[name] = [None] * self._size
            self._named[field] = name
        return self.columns[self._named[field]]

    def _add(self, record):
        columns = self.columns
        for name in FIXED:
            columns[name].append(record.get(name))
        for name, value in record["fields"].items():
            column = self._column(name)
            column.extend([None] * (self._size - len(column)))
            column.append(value)
        self._size += 1

    def _finish(self):
        for column in self.columns.values():
            column.extend([None] * (self._size - len(column)))
        return self

    def numpy(self):
        """A dict of arrays: int64 where all values are integers, float64 with NaN for None, else objects."""
        import numpy

        arrays = {}
        for name, column in self.columns.items():
            kinds = {type(v) for v in column}
            if kinds == {int} and all(-(2**63) <= v < 2**63 for v in column):
                arrays[name] = numpy.array(column, dtype=numpy.int64)
            elif float in kinds and kinds <= {int, float, type(None)}:
                arrays[name] = numpy.array([float("nan") if v is None else v for v in column], dtype=numpy.float64)
            else:
                arrays[name] = numpy.array(column, dtype=object)
        return arrays

    def pandas(self):
        """A data frame; its index is the run's time, in UTC, to the nanosecond."""
        import pandas

        frame = pandas.DataFrame(self.numpy())
        frame.index = pandas.to_datetime(frame["run_time_ns"].astype("int64"), unit="ns", utc=True)
        frame.index.name = "time"
        return frame


class Run:
    """A run: its directory, its name in the folder of runs, or the endpoint of its server; None: the newest."""

    def __init__(self, run=None, runs=None):
        self.run = os.fspath(run) if run is not None else None
        self._options = ["--runs", os.fspath(runs)] if runs is not None else []
        self._served = self.run is not None and "://" in self.run

    def _arguments(self):
        return self._options + (["--", self.run] if self.run is not None else [])

    def _call(self, command, *options):
        done = subprocess.run([_program(), command, *options, *self._arguments()], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        return done.stdout, done.stderr.decode("utf-8", "replace")

    def records(self, aspect=None, node=None, process=None, where=None, start=None, until=None, last=None, follow=False,
                own=False):
        """Gives records as dicts, in their order, as `bezel tail --format jsonl` has them.

        aspect, node, process: globs. where: a condition such as "latency > 5 ms". start, until: as --from and --until,
        or ns since 1970. last: so many. follow: go on until the run ends. own: also the monitor's own records.
        """
        options = ["--format", "jsonl", "-n", "all" if last is None else str(last)]
        given = {"--aspect": aspect, "--node": node, "--process": process, "--where": where, "--from": start,
                 "--until": until}
        for option, value in given.items():
            if value is not None:
                options += [option, str(value)]
        options += ["--follow"] if follow else []
        options += ["--all"] if own else []
        with tempfile.TemporaryFile() as messages:
            child = subprocess.Popen([_program(), "tail", *options, *self._arguments()], stdout=subprocess.PIPE,
                                     stderr=messages, stdin=subprocess.DEVNULL)
            try:
                yield from map(json.loads, child.stdout)
                code = child.wait()
            finally:
                child.stdout.close()
                if child.poll() is None:  # nobody wants the rest
                    child.terminate()
                    child.wait()
            messages.seek(0)
            text = messages.read().decode("utf-8", "replace")
        if code != 0:
            raise BezelError(_reason(text))
        if text.strip():
            warnings.warn(text.strip(), LossWarning, stacklevel=2)

    def table(self, aspect, **which):
        """The records of one aspect as a Table. `which`: as of records()."""
        table = Table(aspect)
        for record in self.records(aspect=aspect, **which):
            table._add(record)
        return table._finish()

    def report(self):
        """The report as a dict: docs/REPORT.md describes it."""
        text, why = self._call("report", "--json")
        try:
            return json.loads(text)
        except ValueError:
            raise BezelError(_reason(why)) from None

    def lost(self):
        """How many records of programs and the monitor were lost, by cause."""
        sums = {}
        for process in self.report()["books"]["processes"]:
            for cause, count in process["lost"].items():
                if count:
                    sums[cause] = sums.get(cause, 0) + count
        return sums

    def sql(self, query, parameters=()):
        """The rows of a query of run.db, as sqlite3.Row. It cannot change the database."""
        if self._served:
            raise BezelError(f"{self.run}: a server has no database; make a mirror of the run: bezel mirror {self.run} DIR")
        runs = self._options[1] if self._options else os.environ.get("BEZEL_RUNS", "runs")
        path = self.run if self.run is not None else os.path.join(runs, "latest")
        if not os.path.isdir(path) and os.path.isdir(os.path.join(runs, path)):
            path = os.path.join(runs, path)
        try:
            database = sqlite3.connect("file:" + _quoted(os.path.join(path, "run.db")) + "?mode=ro", uri=True)
        except sqlite3.Error as why:
            raise BezelError(f"{path}/run.db: {why}") from None
        try:
            database.row_factory = sqlite3.Row
            return database.execute(query, parameters).fetchall()
        finally:
            database.close()


def _quoted(path):
    return os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
