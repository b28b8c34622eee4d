"""Tests of functions on tensors, with a stand-in for the few parts of torch that
mamba_mlir._torch uses: no GPU, no torch."""

from contextlib import contextmanager
import sys
from types import SimpleNamespace

import pytest

from mamba_mlir import ArgumentError, Bundle, DriverError, NoKernelError, _torch, ops
from mamba_mlir.dispatch import registry
from shapes import SSD, SSU

DTYPES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}


class Tensor:
    """A tensor without memory."""

    count = 0

    def __init__(self, shape, dtype, device="cuda:1", contiguous=True):
        Tensor.count += 1
        self.address = Tensor.count << 33
        self.shape, self.dtype, self.device = tuple(shape), dtype, device
        self.is_cuda, self._contiguous = device.startswith("cuda"), contiguous

    def data_ptr(self):
        return self.address if self.numel() else 0

    def numel(self):
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def ndim(self):
        return len(self.shape)

    def clone(self, memory_format):
        assert memory_format == "contiguous"
        return Tensor(self.shape, self.dtype, self.device)

    def is_contiguous(self):
        return self._contiguous

    def stride(self):
        return (1,) * len(self.shape)


@pytest.fixture
def torch(driver, monkeypatch):
    entered = []

    @contextmanager
    def device(name):
        entered.append(name)
        yield

    def empty(shape, dtype, device):  # pylint: disable=redefined-outer-name
        return Tensor(shape if isinstance(shape, tuple) else (shape,), dtype, device)

    stream = SimpleNamespace(cuda_stream=driver.library.fake_stream(1))
    module = SimpleNamespace(
        empty=empty, uint8="torch.uint8", entered=entered, contiguous_format="contiguous",
        cuda=SimpleNamespace(device=device, current_stream=lambda _device: stream,
                             get_device_capability=lambda _device: module.capability),
        capability=(9, 0),
        **{name: f"torch.{name}" for name in DTYPES.values()})
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def tensors(function, shapes):
    return {name: Tensor(shape, f"torch.{DTYPES[function.argument(name).dtype]}")
            for name, shape in shapes.items()}


def test_allocates_outputs(torch, driver, folder):
    ssd = Bundle.load(folder / "ssd")["ssd"]
    results = ssd(**tensors(ssd, SSD))
    assert {name: result.shape for name, result in results.items()} == ssd.result_shapes(**SSD)
    assert results["y"].dtype == "torch.bfloat16" and torch.entered == ["cuda:1"]
    launches = driver.launches()
    assert launches and {launch.stream for launch in launches} == {driver.library.fake_stream(1)}
    assert results["y"].address in launches[-1].values()


def test_uses_given_outputs(torch, driver, folder):
    ssd = Bundle.load(folder / "ssd")["ssd"]
    y = Tensor(SSD["x"], "torch.bfloat16")
    assert ssd(**tensors(ssd, SSD), y=y)["y"] is y


def test_updates_in_place(torch, driver, folder):
    ssu = Bundle.load(folder / "ssu")["ssu"]
    given = tensors(ssu, SSU)
    results = ssu(**given)
    assert set(results) == {"new_state", "y"} and results["new_state"] is given["state"]
    del given["state"]
    with pytest.raises(ArgumentError, match="ssu: argument 'state' is missing"):
        ssu(**given)


@pytest.mark.parametrize("change, message", [
    ({"device": "cpu"}, "argument 'x': expected a CUDA tensor, got one on cpu"),
    ({"device": "cuda:0"}, "expected tensors on one device, got cuda:0, cuda:1"),
    ({"contiguous": False}, "argument 'x': expected a contiguous tensor, got strides"),
    ({"dtype": "torch.int4"}, "argument 'x': expected dtype bf16, got torch.int4"),
    ({"shape": (2, 301, 24, 64)}, "argument 'dt': expected size 301 of axis 1"),
])
def test_rejects(torch, driver, folder, change, message):
    ssd = Bundle.load(folder / "ssd")["ssd"]
    given = tensors(ssd, SSD)
    given["x"] = Tensor(**{"shape": SSD["x"], "dtype": "torch.bfloat16", **change})
    with pytest.raises(ArgumentError, match=message):
        ssd(**given)
    assert not driver.launches()


def test_rejects_no_tensors(torch, folder):
    with pytest.raises(ArgumentError, match="expected tensors on one device, got no tensors"):
        Bundle.load(folder / "ssd")["ssd"]()


# ---- the operations, below torch's operators

@pytest.fixture
def registered(folder, monkeypatch):
    monkeypatch.delenv("MAMBA_MLIR_BUNDLES", raising=False)
    registry.register(folder)
    yield
    registry.clear()
    _torch._targets_of_devices.clear()


def ssd_operands(folder, **changes):
    given = tensors(Bundle.load(folder / "ssd")["ssd"], SSD)
    return {**given, "chunk_size": 256, "z": None, "initial_states": None, "seq_idx": None,
            "dt_softplus": True, "dt_min": 0.0, "dt_max": float("inf"), "state_dtype": "f16",
            "return_final_states": True, **changes}


def test_ssd_on_a_gpu(torch, driver, folder, registered):
    given = ssd_operands(folder)
    y, final_state = ops.run_ssd(**given)
    assert y.shape == SSD["x"] and final_state.dtype == "torch.float16"
    passed = [value for launch in driver.launches() for value in launch.values()]
    assert {given["x"].address, y.address, final_state.address} <= set(passed)


def test_views_and_unaligned_tensors_are_copied(torch, driver, folder, registered):
    given = ssd_operands(folder)
    given["B"]._contiguous = False
    given["C"].address += 8
    ops.run_ssd(**given)
    passed = {value for launch in driver.launches() for value in launch.values()}
    assert given["x"].address in passed
    assert not passed & {given["B"].address, given["C"].address}


def test_state_is_not_copied(torch, driver, folder, registered):
    given = tensors(Bundle.load(folder / "ssu")["ssu"], {**SSU, "state": (3, *SSU["state"][1:])})
    given["state"]._contiguous = False
    with pytest.raises(ArgumentError, match="'state': expected a contiguous tensor"):
        ops.run_ssu(**given, z=None, dt_softplus=True, state_batch_indices=None,
                    dst_state_batch_indices=None, out=Tensor(SSU["x"], "torch.bfloat16"),
                    disable_state_update=False, intermediate_states_buffer=None)


def test_other_gpus(torch, driver, folder, registered):
    torch.capability = (12, 0)
    with pytest.raises(NoKernelError, match="--target=sm_120a --emit=bundle"):
        ops.run_ssd(**ssd_operands(folder))
    _torch._targets_of_devices.clear()
    torch.capability = (12, 1)
    with pytest.raises(NoKernelError, match="--target=sm_89 --emit=bundle"):
        ops.run_ssd(**ssd_operands(folder))
    _torch._targets_of_devices.clear()
    torch.capability = (7, 5)
    with pytest.raises(DriverError, match=r"no target is for cuda:1, of compute capability 7.5; "
                                          r"there are sm_80 \(8.0\), "):
        ops.run_ssd(**ssd_operands(folder))
