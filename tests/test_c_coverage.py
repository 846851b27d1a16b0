"""What `make coverage` counts, for a program of which everything is known."""

import os
import shlex
import shutil
import subprocess

import pytest

import c_coverage

CC = shlex.split(os.environ.get("CC") or "cc")
pytestmark = [
    pytest.mark.source,
    pytest.mark.skipif(not shutil.which(CC[-1]) or not shutil.which(c_coverage.GCOV[0]), reason="no GCC"),
]

HEADER = """
static inline __attribute__((always_inline)) int larger(int a, int b)
{
    if (a > b)
        return a;
    return b;
}
"""
PROGRAM = """
#include "larger.h"
static int never(int a)
{
    return a + 1;
}
int main(int count, char **arguments)
{
    (void)arguments;
    if (count > 5)
        return never(count);
    return larger(count, 0) + larger(count, -1) + larger(0, SECOND) - 2;
}
"""


@pytest.mark.parametrize(("second", "taken"), [("-7", 2), ("0", 3)])
def test_lines_and_branches_of_inlined_functions_are_counted_once(
    tmp_path, monkeypatch, capsys, second, taken
):
    sources, tree = tmp_path / "csrc" / "part", tmp_path / "build"
    sources.mkdir(parents=True)
    tree.mkdir()
    (sources / "larger.h").write_text(HEADER)
    (sources / "main.c").write_text(PROGRAM.replace("SECOND", second))
    command = [*CC, "-O0", "--coverage", "-c", "csrc/part/main.c", "-o", "build/main.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    monkeypatch.setattr(c_coverage, "ROOT", tmp_path)
    monkeypatch.setattr(c_coverage, "SOURCES", tmp_path / "csrc")
    assert c_coverage.tally([*c_coverage.read(tree)["part/main.c"].values()])[0] == 0  # it has not run
    subprocess.run([*CC, "--coverage", "build/main.o", "-o", "main"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "main"], check=False)
    files = c_coverage.read(tree)
    everything = [line for lines in files.values() for line in lines.values()]
    absent = [line for name in files for line in c_coverage.missing(name, files[name])]
    ran, lines, found, branches = c_coverage.tally(everything)
    assert lines - ran == sum("never  " in line for line in absent)
    for line in ("never  return a + 1;", "1/2  if (count > 5)", "never  return never(count);"):
        assert any(line in one for one in absent), absent
    assert not any("larger(" in one for one in absent)
    assert any("never  return b;" in one for one in absent) == (taken == 2)
    assert (found, branches) == (taken, 4)
    monkeypatch.setattr("sys.argv", ["c_coverage.py", str(tree)])
    assert c_coverage.main() == 0
    assert f"of {lines:6} lines" in capsys.readouterr().out
