"""What all tests share: which `mpm` is tested, and settings that keep a run repeatable."""

import collections
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")

# A shell lets its background jobs ignore Ctrl-C, and so they would wait for ever in tests of it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, no clock (machines differ), and no folder left behind. HYPOTHESIS_PROFILE=explore
# looks for new ones.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile(
    "explore", max_examples=2000, deadline=None, database=None, print_blob=True
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(autouse=True)
def no_figure_is_left() -> Iterator[None]:
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def hangups_end() -> Iterator[None]:
    """The default of SIGHUP, here and in the processes that a test starts, whatever the run has: under `nohup`, which
    goes on for all other tests, it is ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser of Playwright, with WebGL by software."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is on the PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", help="run simulations of the Material Point Method there: 'emulated'")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.device:
        import on_device

        on_device.use(config.option.device, config.pluginmanager)


def pytest_report_header(config: pytest.Config) -> str:
    import mpm

    return f"mpm: {Path(mpm.__file__).parent}" + f", on {config.option.device}" * bool(config.option.device)


def pytest_sessionstart(session: pytest.Session) -> None:
    """A lane that tests a particular build (`MPM_TESTED=folder`) must not find another one by accident."""
    import mpm

    tested = os.environ.get("MPM_TESTED")
    if tested and not Path(mpm.__file__).resolve().is_relative_to(Path(tested).resolve()):
        raise pytest.UsageError(f"meant to test {tested}, but mpm comes from {mpm.__file__}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What a device has refused. A file that grew long is work to do, not a failure (at 1000 lines test_house.py makes
    it one)."""
    refused = collections.Counter(
        report.longrepr[2].partition("device: ")[2] for report in terminalreporter.stats.get("skipped", [])
    )
    for what, count in sorted(refused.items()):
        if what:
            terminalreporter.write_line(f"refused by the device, in {count} tests: {what}")
    for path in sorted(p for folder in ("csrc", "mpm", "tests") for p in (ROOT / folder).rglob("*.[chp]*")):
        if path.suffix in (".c", ".h", ".py", ".pyi") and "__pycache__" not in path.parts:
            lines = path.read_bytes().count(b"\n")
            if lines > 600:
                terminalreporter.write_line(f"long file: {path.relative_to(ROOT)} has {lines} lines")


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that drive a browser run where they are asked for, in an environment of their own."""
    if "browser" not in config.option.markexpr:
        driven = [item for item in items if item.get_closest_marker("browser")]
        items[:] = [item for item in items if item not in driven]
        config.hook.pytest_deselected(items=driven)
    if config.option.device:
        import on_device

        config.hook.pytest_deselected(items=on_device.choose(items))
