"""NVIDIA's driver (csrc/mpm/gpu/cuda_driver.c) on a library that stands in for it, and kernels that are compiled and
kept (mpm/mpm/cuda.py)."""

from __future__ import annotations

import gc
import os
import re
import resource
import struct
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

import mpm
from fake_cuda import CC, NUMBERS, ROOT, Driver, Failed, Library
from mpm import _core
from mpm.base import gpus
from mpm.mpm import cuda

pytestmark = [
    pytest.mark.source,
    pytest.mark.skipif(CC is None or sys.platform != "linux", reason="no C compiler, or no Linux"),
]
FAILED = 719  # CUDA_ERROR_LAUNCH_FAILED


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return Library(tmp_path_factory.mktemp("fake_cuda"))


@pytest.fixture
def library(compiled, monkeypatch):
    """Two devices; nothing is left of the driver's when a test ends, but the context that stays on purpose."""
    compiled.reset()
    monkeypatch.setattr(gpus, "LIBRARY", str(compiled.path))
    yield compiled
    left = compiled.left()
    assert (left.arrays, left.modules, left.current) == (0, 0, 0) and left.retained <= 2


def driver(library, image: bytes = NUMBERS, number: int = 0) -> Driver:
    return Driver(_core.cuda_driver(image, number, str(library.path)))


# --- the driver ---------------------------------------------------------------------------------------------------


def test_memory_copies_and_launches(library):
    d = driver(library)
    assert (d.image.real_size, d.image.dim, d.image.law_bytes, d.image.sweep_bytes) == (8, 3, 24, 50000)
    one, other = d.allocate(100), d.allocate(200)
    d.write(one, b"abcdefgh")
    d.copy(other + 4, one + 2, 4)
    d.fill(other, ord("z"), 4)
    assert d.read(other, 8) == b"zzzzcdef"
    d.launch(2, 7, 64, 50000)
    d.launch(7, 3, 256)
    d.launch(7, 0, 256)  # nothing to do
    d.wait()
    assert library.launches() == [(2, 7, 64, 50000), (7, 3, 256, 0)]
    d.release(one)
    d.release(None)
    assert library.left().arrays == 1  # the other one goes with the driver


def test_two_drivers_share_their_device(library):
    one, two = driver(library), driver(library)
    memory = one.allocate(8)
    one.write(memory, b"12345678")
    assert two.read(memory, 8) == b"12345678"
    two.release(memory)  # not its own
    assert library.left() == (1, 2, 0, 3)
    del one
    assert library.left() == (0, 1, 0, 2)


def test_no_driver_and_no_device(library):
    with pytest.raises(mpm.DeviceError, match=r"no driver: .*Install NVIDIA's driver"):
        _core.cuda_devices("libcuda-that-is-missing.so")
    with pytest.raises(mpm.DeviceError, match=r"driver too old: libc\.so\.6 lacks cuInit"):
        _core.cuda_devices("libc.so.6")
    library.reset(version=11040)
    with pytest.raises(
        mpm.DeviceError, match=r"driver too old: it knows CUDA 11\.4\. Install one of CUDA 13\.0"
    ):
        gpus.devices()
    for found in ({"devices": 0}, {}):
        library.reset(**found)
        if not found:
            library.fail("cuInit", 100)  # CUDA_ERROR_NO_DEVICE
        with pytest.raises(mpm.DeviceError, match=r"no device: .*CUDA_VISIBLE_DEVICES"):
            gpus.devices()
    library.reset()
    library.fail("cuInit", 3)  # CUDA_ERROR_NOT_INITIALIZED
    with pytest.raises(mpm.DeviceError, match=r"forked process whose parent has used it.*spawn"):
        gpus.devices()
    library.reset()
    with pytest.raises(ValueError, match="no device 2: the driver has 2"):
        driver(library, number=2)
    with pytest.raises(ValueError, match="no device -1"):
        driver(library, number=-1)
    with pytest.raises(TypeError):
        _core.cuda_driver(bytearray(NUMBERS), 0, str(library.path))


def test_show_config_lists_devices(library, monkeypatch, capsys):
    assert mpm.show_config().gpus == "cuda:0 Fake 0 (9.0, 1 GiB), cuda:1 Fake 1 (9.0, 1 GiB); CUDA 13.1"
    assert "\ngpus         cuda:0 Fake 0" in capsys.readouterr().out
    library.fail("cuInit", FAILED)
    told = "none: cuInit: CUDA_ERROR_LAUNCH_FAILED (719), unspecified launch failure"
    assert mpm.show_config().gpus == told
    monkeypatch.setattr(gpus, "LIBRARY", "libcuda-that-is-missing.so")
    assert mpm.show_config().gpus == "none: no driver"
    assert (
        mpm.config.configuration().gpus is None
    )  # files do not ask: a driver that has started cannot be forked


def test_devices_that_do_not_suit(library):
    library.reset(capability=70)
    with pytest.raises(
        mpm.DeviceError, match=r"Fake 1, has compute capability 7\.0: it must be 7\.5 or higher"
    ):
        driver(library, number=1)
    library.reset(shared=40_000)
    with pytest.raises(
        OverflowError, match="need 50000 bytes of shared memory per block, and this GPU has 40000"
    ):
        driver(library)
    library.reset()
    with pytest.raises(mpm.DeviceError, match=r"cuModuleLoadData: unknown error \(200\)"):
        driver(library, image=b"no image")


STARTS = (
    *(
        "cuDriverGetVersion",
        "cuInit",
        "cuDeviceGetCount",
        "cuDeviceGet",
        "cuDeviceGetName",
        "cuDeviceTotalMem_v2",
    ),
    *(
        "cuDeviceGetAttribute",
        "cuDevicePrimaryCtxGetState",
        "cuDevicePrimaryCtxRetain",
        "cuCtxPushCurrent_v2",
    ),
    *("cuModuleLoadData", "cuModuleGetFunction", "cuModuleGetGlobal_v2", "cuMemcpyDtoH_v2"),
)


@pytest.mark.parametrize("name", STARTS)
def test_a_start_that_fails_leaves_nothing_behind(library, name: str):
    library.fail(name, FAILED)
    with pytest.raises(
        mpm.DeviceError, match=r"CUDA_ERROR_LAUNCH_FAILED \(719\), unspecified launch failure"
    ):
        driver(library)
    library.fail(name, 2)
    with pytest.raises(MemoryError, match=r"CUDA_ERROR_OUT_OF_MEMORY \(2\), out of memory"):
        driver(library)
    library.fail("", 0)
    driver(library).wait()


CALLS = {
    "cuMemAlloc_v2": lambda d, m: d.allocate(8),
    "cuMemcpyHtoD_v2": lambda d, m: d.write(m, b"12345678"),
    "cuMemcpyDtoH_v2": lambda d, m: d.read(m, 8),
    "cuMemcpyDtoDAsync_v2": lambda d, m: d.copy(m + 4, m, 4),
    "cuMemsetD8Async": lambda d, m: d.fill(m, 0, 8),
    "cuLaunchKernel": lambda d, m: d.launch(0, 1, 64),
    "cuFuncSetAttribute": lambda d, m: d.launch(0, 1, 64, 50000),
    "cuStreamSynchronize": lambda d, m: d.wait(),
    "cuCtxPushCurrent_v2": lambda d, m: d.wait(),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_lost_device_is_named_in_the_words_of_the_driver(library, name: str):
    d = driver(library)
    memory = d.allocate(8)
    library.fail(name, FAILED)
    with pytest.raises(Failed, match=r"CUDA_ERROR_LAUNCH_FAILED \(719\), unspecified launch failure"):
        CALLS[name](d, memory)
    said = d.words()
    assert name.partition("_v2")[0] in said or name == "cuFuncSetAttribute"
    d.release(memory)  # and the words stay, also if this fails, too
    assert d.words() == said
    library.fail("", 0)
    if name == "cuCtxPushCurrent_v2":
        assert library.left().arrays == 1  # no context, no call; the driver tries again at its end


def test_a_full_device(library):
    library.reset(memory=10**6)
    d = driver(library)
    memory = d.allocate(600_000)
    with pytest.raises(
        Failed, match=r"^1: the GPU's memory is full: .* 0\.5 MB was wanted, 0\.4 of 1 MB are free"
    ):
        d.allocate(500_000)
    d.write(memory, b"works on")
    assert d.read(memory, 8) == b"works on"


def test_errors_of_use(library):
    d = driver(library)
    memory = d.allocate(8)
    for call in (
        lambda: d.read(memory, 9),
        lambda: d.write(memory + 1, b"12345678"),
        lambda: d.copy(memory, 64, 8),
    ):
        with pytest.raises(Failed, match=r"unknown error \(1\), the driver has no words for it"):
            call()


def test_thousands_of_drivers_leave_nothing_behind(library):
    for _ in range(10_000):
        _core.cuda_driver(NUMBERS, 0, str(library.path))
    assert library.left() == (0, 0, 0, 1)
    for _ in range(100):
        d = driver(library)
        for _ in range(100):
            d.release(d.allocate(1000))
        d.allocate(1000)


def test_a_forked_process_gets_an_error_and_its_parent_works_on(library):
    d = driver(library)
    memory = d.allocate(8)
    child = os.fork()
    if not child:
        told = 1
        try:
            try:
                d.write(memory, b"abcdefgh")
            except Failed as error:
                told = 0 if "before this process was forked" in str(error) else 2
            d.release(memory)
            before = library.left()
            del d
            told = told or 3 * (library.left() != before)  # no call of the parent's driver
        finally:  # nothing else of the test run happens here
            os._exit(told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    d.write(memory, b"abcdefgh")
    assert d.read(memory, 8) == b"abcdefgh"


# --- kernels that are kept ----------------------------------------------------------------------------------------

MACROS = {
    "MPM_ISA": "cuda", "MPM_ISA_CUDA": 1, "MPM_REAL": "double", "MPM_DIM": 3, "LAW": "neo_hookean", "LAW_KEEPS_J": 0,
    "LAW_HISTORY": 0, "LAW_MAPS": 0,
}  # fmt: skip


@pytest.fixture
def compiler(library, tmp_path, monkeypatch):
    """A compiler that tells which blocks it was asked for; the kept kernels are in a folder of the test."""
    asked: list[tuple[int, str]] = []

    def compile_one(macros, architecture):
        asked.append((macros["GPU_SWEEP_THREADS"], architecture))
        return b"numbers 8 3 24 %d %d 0 2 0" % (
            macros["GPU_SWEEP_THREADS"],
            500 * macros["GPU_SWEEP_THREADS"],
        )

    monkeypatch.setattr(cuda, "compiled", compile_one)
    monkeypatch.setenv("MPM_CACHE", str(tmp_path / "kept"))
    return asked


def kept() -> list[Path]:
    return sorted(cuda.folder().iterdir())


def test_kernels_are_compiled_once(compiler, library, monkeypatch):
    assert Driver(cuda.driver_for("cuda:1", MACROS)).image.sweep_threads == 256
    cuda.driver_for("cuda", MACROS)
    assert compiler == [(256, "sm_90")] and len(kept()) == 1
    assert cuda.folder().stat().st_mode & 0o777 == 0o700
    cuda.driver_for("cuda", {**MACROS, "MPM_REAL": "float"})
    library.reset(capability=75)
    cuda.driver_for("cuda", MACROS)
    monkeypatch.setattr(cuda, "_compiler", lambda: ["another"])
    cuda.driver_for("cuda", MACROS)
    monkeypatch.setattr(cuda, "_digest", lambda: "other sources")
    cuda.driver_for("cuda", MACROS)
    assert len(compiler) == len(kept()) == 5


@pytest.mark.parametrize("damage", ["cut", "bit", "empty", "folder"])
def test_damaged_kernels_are_compiled_again(compiler, damage: str):
    cuda.driver_for("cuda", MACROS)
    (path,) = kept()
    whole = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
        with pytest.warns(RuntimeWarning, match="cannot be kept.*MPM_CACHE names another folder"):
            cuda.driver_for("cuda", MACROS)
    else:
        path.write_bytes({"cut": whole[:-1], "bit": whole[:-1] + b"1", "empty": b""}[damage])
        cuda.driver_for("cuda", MACROS)
        assert path.read_bytes() == whole
    assert len(compiler) == 2


def test_kernels_that_the_driver_cannot_load(compiler, library, monkeypatch):
    library.reset(version=13000)
    library.fail("cuModuleLoadData", 209)  # CUDA_ERROR_NO_BINARY_FOR_GPU
    monkeypatch.setattr(cuda, "_compiler", lambda: ["nvidia-cuda-nvrtc 13.5"])
    with pytest.raises(
        mpm.DeviceError,
        match=r"a newer driver.* knows CUDA 13\.0; .* come from nvidia-cuda-nvrtc 13\.5",
    ):
        cuda.driver_for("cuda", MACROS)


def test_little_shared_memory_takes_smaller_blocks(compiler, library):
    library.reset(shared=99_000)
    assert Driver(cuda.driver_for("cuda", MACROS)).image.sweep_threads == 128
    cuda.driver_for("cuda", MACROS)
    assert [threads for threads, _ in compiler] == [256, 128]
    library.reset(shared=10_000)
    with pytest.raises(mpm.DeviceError, match=r"need 32000 bytes .* has 10000; choose dtype='float32'"):
        cuda.driver_for("cuda", MACROS)


def test_the_oldest_kernels_are_removed(compiler, monkeypatch):
    for law in ("sand", "snow", "fluid"):
        cuda.driver_for("cuda", {**MACROS, "LAW": law})
    size = kept()[0].stat().st_size
    for age, path in enumerate(kept()):  # fluid, sand, snow
        os.utime(path, (1000 - age, 1000 - age))
    cuda.driver_for("cuda", {**MACROS, "LAW": "snow"})  # used last
    monkeypatch.setattr(cuda, "KEPT_BYTES", 3 * size + 20)
    cuda.driver_for("cuda", {**MACROS, "LAW": "ogden"})
    assert [path.name.partition("-")[0] for path in kept()] == ["fluid", "ogden", "snow"]


def test_where_kernels_are_kept(monkeypatch, tmp_path):
    monkeypatch.delenv("MPM_CACHE", raising=False)
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cuda.folder() == Path("/somewhere/.cache/mpm/gpu")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # not allowed by the standard: ignored
    assert cuda.folder() == Path("/somewhere/.cache/mpm/gpu")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert cuda.folder() == Path("/elsewhere/mpm/gpu")
    monkeypatch.setenv("MPM_CACHE", "~/own")
    assert cuda.folder() == Path("/somewhere/own/gpu")


@pytest.mark.parametrize(
    "device", ["cuda:", "cuda:-1", "cuda:01", "cuda:1 ", "CUDA", "cuda:٣", "cuda:1000", "gpu", ""]
)
def test_names_of_devices(device: str):
    with pytest.raises(ValueError, match="must be 'cuda', or 'cuda:' and the number"):
        cuda.number_of(device)


def test_a_device_that_is_not_there(library):
    assert [cuda.number_of(device) for device in ("cuda", "cuda:0", "cuda:12")] == [0, 0, 12]
    with pytest.raises(
        ValueError, match=r"no such device; there is cuda:0 Fake 0 \(9\.0, 1 GiB\), cuda:1 Fake 1"
    ):
        cuda.driver_for("cuda:2", MACROS)
    library.reset(capability=70)
    with pytest.raises(mpm.DeviceError, match=r"must have compute capability 7\.5 or higher"):
        cuda.driver_for("cuda", MACROS)


def test_without_the_compiler(monkeypatch, tmp_path, library):
    monkeypatch.setenv("MPM_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    with pytest.raises(ImportError, match=r"pip install cuda-core .* \(the extra 'cuda'\)"):
        cuda.driver_for("cuda", MACROS)


def test_an_old_compiler_is_not_asked(monkeypatch, tmp_path, library):
    monkeypatch.setenv("MPM_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "cuda", types.ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.core", types.ModuleType("cuda.core"))
    monkeypatch.setattr(cuda.metadata, "version", lambda name: "12.9.1")
    with pytest.raises(
        mpm.DeviceError, match=r"compiler of CUDA 13, and cuda-bindings is 12\.9\.1: pip install --up"
    ):
        cuda.driver_for("cuda", MACROS)


# --- simulations --------------------------------------------------------------------------------------------------


@pytest.fixture
def emulation(library, monkeypatch):
    """Kernels of the library that stands in for the driver are those of the emulation."""
    pytest.importorskip("emulated_device")
    from emulated import CXX

    if CXX is None:
        pytest.skip("no C++ compiler")
    import emulated_device
    from mpm.mpm import devices
    from scenes import MATERIALS

    image = devices.Image(MATERIALS["neo_hookean"], "float32", 2)
    code = b"emulated " + emulated_device._library(image)._name.encode()
    monkeypatch.setattr(cuda, "image", lambda macros, architecture: code)
    return library


def falling(device: str) -> mpm.Simulation:
    from test_device import body

    return body("neo_hookean", 2, "float32", device)


def test_a_simulation_runs_on_the_driver(emulation):
    one, other, emulated = (falling(device) for device in ("cuda", "cuda:1", "emulated"))
    for sim in (one, other, emulated):
        sim.step(20)
    assert one.state_hash() == other.state_hash() == emulated.state_hash()
    assert (one.history["kinetic"] == emulated.history["kinetic"]).all()
    lent = other.particles.on_device("v").__cuda_array_interface__
    assert (lent["shape"], lent["typestr"], lent["data"][1]) == ((len(other.particles), 2), "<f4", True)
    assert other.particles.on_device("v").__dlpack_device__() == (2, 1)
    before = emulation.left()
    assert before.arrays > 20 and before.modules == 2 and before.current == 0
    del one, sim
    gc.collect()
    assert emulation.left().modules == 1
    other.step(1)


def test_what_cannot_begin_says_so(emulation, monkeypatch):
    with pytest.raises(ValueError, match="device = 'cuda:2': there is no such device"):
        falling("cuda:2")
    with pytest.raises(ValueError, match="device = 'cuda:one': must be 'cuda', or"):
        falling("cuda:one")
    monkeypatch.setattr(gpus, "LIBRARY", "libcuda-that-is-missing.so")
    with pytest.raises(mpm.DeviceError, match="no driver"):
        falling("cuda")


def test_a_device_that_is_lost_in_a_run(emulation):
    lost, other = falling("cuda"), falling("cuda")
    lost.step(2)
    emulation.fail("cuLaunchKernel", FAILED, 10)
    with pytest.raises(mpm.DeviceError, match=r"cuLaunchKernel of \w+: CUDA_ERROR_LAUNCH_FAILED"):
        lost.step(10)
    emulation.fail("", 0)
    with pytest.raises(mpm.SimulationError):  # its state is lost
        lost.step(1)
    other.step(1)


def test_a_device_that_is_full(emulation):
    emulation.reset(memory=50_000)
    with pytest.raises(MemoryError):
        falling("cuda").step(1)
    gc.collect()
    assert emulation.left()[:3] == (0, 0, 0)


@pytest.mark.slow
def test_thousands_of_simulations_leave_nothing_behind(emulation):
    for number in range(10_000):
        sim = falling("cuda")
        if number % 1000 == 0:
            sim.step(1)
        if number == 1000:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    del sim
    gc.collect()
    assert emulation.left() == (0, 0, 0, 1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096  # kB


def test_a_simulation_in_a_forked_process(emulation):
    sim = falling("cuda")
    sim.step(1)
    child = os.fork()
    if not child:
        told = 1
        try:
            sim.step(1)
        except mpm.DeviceError as error:
            told = 0 if "before this process was forked" in str(error) else 2
        finally:  # nothing else of the test run happens here
            os._exit(told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    sim.step(1)


# --- the compiler -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_installed_package_has_all_that_kernels_include(tmp_path):
    """`setup.py build_py` copies the sources; a compiler of C++ that finds nothing else reads them."""
    pytest.importorskip("setuptools")
    from emulated import CXX, FLAGS

    if CXX is None:
        pytest.skip("no C++ compiler")
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    base = tmp_path / "mpm" / "include"
    copied = [path for path in (base / "csrc").rglob("*") if path.is_file()]
    assert {path.suffix for path in copied} == {".h", ".cu", ".c"}
    assert sum(path.stat().st_size for path in copied) < 1e6  # 0.13 MB of a wheel
    source = tmp_path / "all.cpp"
    source.write_text(f'#include "cuda.h"\n{cuda.IMAGE}')
    includes = [f"-I{path}" for path in (base / "csrc", base, ROOT / "tests" / "gpu")]
    defined = [
        f"-D{name}={value}"
        for name, value in {**MACROS, "GPU_SWEEP_THREADS": 64, "GPU_SWEEP_CTAS": 1}.items()
    ]
    subprocess.run([*str(CXX).split(), *FLAGS, "-fsyntax-only", *defined, *includes, source], check=True)


def defined(code: bytes) -> set[str]:
    """The symbols of functions and variables in an ELF file of 64 bits. NVRTC makes those of variables local."""
    sections, size, count = *struct.unpack_from("<Q", code, 40), *struct.unpack_from("<HH", code, 58)
    heads = [struct.unpack_from("<IIQQQQII", code, sections + k * size) for k in range(count)]
    found = set()
    for _, kind, _, _, at, length, link, _ in heads:
        for symbol in range(at, at + length, 24) if kind == 2 else ():  # a table of symbols
            name, info, _, section = struct.unpack_from("<IBBH", code, symbol)
            if info & 15 in (1, 2) and section:
                start = heads[link][4] + name
                found.add(code[start : code.index(0, start)].decode())
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("real", "dim", "architecture"), [("float", 3, "sm_75"), ("double", 2, "sm_90")])
def test_nvrtc_compiles_the_kernels(real: str, dim: int, architecture: str):
    """Measured: 2.3 s of the processor."""
    pytest.importorskip("cuda.core")
    macros = {**MACROS, "MPM_REAL": real, "MPM_DIM": dim, "GPU_SWEEP_THREADS": 256, "GPU_SWEEP_CTAS": 1}
    began = time.process_time()
    made = cuda.compiled(macros, architecture)
    assert time.process_time() - began < 5
    listed = (ROOT / "csrc" / "mpm" / "gpu" / "driver.h").read_text()
    assert defined(made) >= {"gpu_image", *re.findall(r"X\(MPM_GPU_\w+, (\w+)\)", listed)}
