"""The folder of a sweep: a manifest, a file per finished case, the table."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import inspect
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Never

import numpy as np
import numpy.typing as npt

from mpm.base import _check, advice, config, files, paths
from mpm.errors import FileFormatError
from mpm.study.calls import Record
from mpm.study.cases import COLUMNS, Case, hash_of

Column = npt.NDArray[Any]

MANIFEST, TABLE, CASES, FOLDERS = "manifest.json", "table.csv", "cases", "folders"
OWN = {MANIFEST, TABLE, CASES, FOLDERS}
FORMAT = 1
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # in the repr of an object: another one in each process
WORDS = {
    "function": "the function {}",
    "source": "a function whose source has the hash {:.12}",
    "mpm": "mpm {}",
    "kernels": "the kernel set {}",
}


class Results:
    """The folder of a sweep.

    Parameters
    ----------
    out : path
        Made if it does not exist.
    function : callable
        Whose results the folder holds.

    Raises
    ------
    ValueError
        The folder has files that are not of a sweep, or results of another function, version or kernel set.
    FileFormatError
        The manifest is not one of a sweep.
    OSError
        The folder cannot be made or written to.
    """

    def __init__(self, out: object, function: Callable[..., Any]) -> None:
        self.path = paths.as_path("out", out)
        if "\0" in str(self.path) or out in ("", b""):
            raise ValueError(f"out = {_check.shown(out)}: must be the path of a folder")
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"out = {str(self.path)!r}: is a file; must be a folder, or a new one")
        self.path.mkdir(parents=True, exist_ok=True)
        manifest = {
            "format": "mpm sweep",
            "format_version": FORMAT,
            "function": function.__qualname__,  # without its module: a script is the same when it is imported
            "source": _hash_of(function),
            "mpm": config.version(),
            "kernels": config.isa(),
        }
        self._refuse_foreign()
        (self.path / CASES).mkdir(exist_ok=True)
        path = self.path / MANIFEST
        if not path.exists() or not self.present():  # nothing there is of another function yet
            files.replace(str(path), [_encoded(manifest)])
        self._compare(path, manifest)  # another process may have been faster

    def _refuse_foreign(self) -> None:
        if (self.path / MANIFEST).exists():
            return
        others = sorted(
            entry.name
            for entry in self.path.iterdir()
            if entry.name not in OWN and not (entry.name.startswith(".mpm-") and entry.suffix == ".tmp")
        )
        if others:
            raise ValueError(
                f"out = {str(self.path)!r}: has files that are not of a sweep, such as {_check.shown(others[0])}; "
                "must be an empty folder, a new one, or that of a sweep"
            )

    def _compare(self, path: Path, manifest: Mapping[str, Any]) -> None:
        found = _decoded(path)
        if not isinstance(found, dict) or found.get("format") != manifest["format"]:
            raise FileFormatError(f"{path}: is not the manifest of a sweep")
        if found.get("format_version") != FORMAT:
            raise FileFormatError(
                f"{path}: has the format version {_check.shown(found.get('format_version'))}; must be {FORMAT}"
            )
        for name, words in WORDS.items():
            if found.get(name) != manifest[name]:
                raise ValueError(
                    f"out = {str(self.path)!r}: holds results of {words.format(found.get(name))}, and this is "
                    f"{words.format(manifest[name])}; choose another folder, or delete {MANIFEST} there if the results "
                    "are still valid"
                )

    @property
    def folders(self) -> str:
        """Where the folders of cases are; absolute, because a worker may be elsewhere."""
        return str(self.path.absolute() / FOLDERS)

    def read(self, case: Case) -> Record | None:
        """The record of a case that is finished; None if it is not, or its file is not whole or of another case."""
        try:
            found = _decoded(self.path / CASES / case.file)
        except FileNotFoundError:
            return None
        except FileFormatError:  # a power cut: the file was named, and its bytes were not on the disk
            return None
        return found if _fits(found, case) else None

    def present(self) -> set[str]:
        """Names of the files of cases that there are."""
        return {entry.name for entry in (self.path / CASES).iterdir() if entry.suffix == ".json"}

    def write(self, case: Case, record: Record) -> None:
        """Keep the record of a case; an OSError that names the file if the folder or the disk does not take it."""
        path = self.path / CASES / case.file
        try:
            with files.renamed(path) as temporary:
                temporary.write_bytes(_encoded({"parameters": case.parameters, **record}))
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None

    def tabulate(self, table: SweepTable) -> None:
        """Write the table."""
        files.replace(str(self.path / TABLE), [table._csv().encode("utf-8", "backslashreplace")])


def _fits(found: object, case: Case) -> bool:
    """Whether what a file holds is a record of the case."""
    if not isinstance(found, dict) or not {"parameters", "results", "error"} <= found.keys():
        return False
    parameters, results, error = found["parameters"], found["results"], found["error"]
    if not isinstance(parameters, dict) or not isinstance(results, dict):
        return False
    if parameters != case.parameters and hash_of(parameters) != case.name:  # a tuple is a list there
        return False
    for name, value in results.items():
        if isinstance(value, (list, dict)) or name in COLUMNS or name in parameters:
            return False
    return error is None or (
        isinstance(error, dict) and all(isinstance(error.get(name), str) for name in ("type", "message"))
    )


def _hash_of(function: Callable[..., Any]) -> str:
    """The SHA-256 of the source of a function, or of its code where the source is not to be had."""
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        code = inspect.unwrap(function).__code__
        source = repr((code.co_code, code.co_names, code.co_varnames, _constants(code)))
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def _constants(code: Any) -> list[Any]:
    """The constants of a code, without the addresses of those within."""
    return [
        (entry.co_code, _constants(entry)) if inspect.iscode(entry) else repr(entry)
        for entry in code.co_consts
    ]


def _encoded(tree: object) -> bytes:
    return json.dumps(tree, indent=1).encode() + b"\n"


def _decoded(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise FileFormatError(f"{path}: is not JSON") from None


class SweepTable(Mapping[str, Column]):
    """The table of a sweep: name → column, with a row per case, in the order of the cases.

    The columns are ``case_file``, the file of the case in the folder ``cases``; the parameters; the results; and
    ``error_type`` and ``error_message`` of the cases that failed. A column of numbers is an array of floats, or of
    integers or booleans if every row has one; NaN is where a case has none. Other columns are arrays of objects, with
    None where a case has none. ``table["front"]`` is a column, ``table.row(3)`` the numbers and strings of a case.

    Attributes
    ----------
    path : pathlib.Path
        The folder of the sweep.
    """

    __slots__ = ("_names", "_rows", "_unfinished", "path")

    def __init__(self, path: Path, cases: Sequence[Case], records: Mapping[str, Record]) -> None:
        self.path = path
        self._rows: list[dict[str, Any]] = []
        names: dict[str, None] = dict.fromkeys(name for case in cases for name in case.parameters)
        for case in cases:
            record = records.get(case.name)
            row = {"case_file": case.file, **case.parameters}
            if record is not None:
                row |= record["results"]
                names |= dict.fromkeys(record["results"])
                if error := record["error"]:
                    row["error_type"] = str(error["type"])
                    row["error_message"] = _check.shortened(ADDRESS.sub("", str(error["message"])))
            self._rows.append(row)
        self._names = [COLUMNS[0], *(name for name in names if name not in COLUMNS), *COLUMNS[1:]]
        self._unfinished = [k for k, case in enumerate(cases) if case.name not in records]

    @property
    def failed(self) -> list[int]:
        """The numbers of the cases that failed."""
        return [k for k, row in enumerate(self._rows) if "error_type" in row]

    @property
    def unfinished(self) -> list[int]:
        """The numbers of the cases that other parts of the sweep have not finished yet."""
        return list(self._unfinished)

    def row(self, k: int) -> dict[str, Any]:
        """What is known of a case: numbers and strings by name.

        Parameters
        ----------
        k : int
            Its number, from 0; negative numbers count from the end.
        """
        count = len(self._rows)
        return dict(self._rows[_check.integer("k", k, low=-count, high=count - 1)])

    def to_dataframe(self) -> Any:
        """The table as a `pandas.DataFrame`; needs pandas."""
        pandas = _check.extra("pandas", "SweepTable.to_dataframe needs pandas", "table")
        return pandas.DataFrame(dict(self))

    def __getitem__(self, name: str) -> Column:
        if name not in self._names:
            near = advice.nearest(name, self._names) if isinstance(name, str) else ""
            raise KeyError(f"no column {name!r}; there are {', '.join(self._names)}{near}")
        return _column([row.get(name) for row in self._rows])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getattr__(self, name: str) -> Never:
        # Python calls this only if the ordinary look-up has failed.
        column = not name.startswith("_") and name in self._names
        hint = f"; it is a column: table[{name!r}]" if column else ""
        raise AttributeError(f"SweepTable has no attribute {name!r}{hint}", name=name, obj=self)

    def __repr__(self) -> str:
        counts = [f"{len(self._rows)} cases"]
        counts += [f"{len(self.failed)} failed"] * bool(self.failed)
        counts += [f"{len(self._unfinished)} unfinished"] * bool(self._unfinished)
        return f"<SweepTable of {', '.join(counts)}: {', '.join(self._names)}>"

    def _csv(self) -> str:
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(self._names)
        lines.writerows([_cell(row.get(name)) for name in self._names] for row in self._rows)
        return text.getvalue()


def _column(values: Sequence[Any]) -> Column:
    """Booleans, integers or floats, if all values are; else objects."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return np.array(values, dtype=bool)
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):
        return np.array(values, dtype=np.int64)
    if kinds <= {int, float, type(None)} and kinds != {type(None)}:
        with contextlib.suppress(OverflowError):  # an int that no float holds
            return np.array([math.nan if value is None else float(value) for value in values])
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _cell(value: object) -> str:
    """An entry of the file: numbers in as few digits as give their bits."""
    if value is None:
        return ""
    return (
        value
        if isinstance(value, str)
        else json.dumps(value)
        if isinstance(value, (list, tuple, dict))
        else repr(value)
    )
