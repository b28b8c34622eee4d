"""Functions of a bundle on torch tensors."""

from mamba_mlir._library import ArgumentError, DriverError
from mamba_mlir.bundle import DeviceArray, collect_results

_OF_TORCH = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64",
             "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
             "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64"}
_NAMES = {f"torch.{of_torch}": name for name, of_torch in _OF_TORCH.items()}
_names_of_dtypes = {}  # the same by dtype, as str() takes long
# By compute capability.
_TARGETS = {(8, 0): "sm_80", (8, 6): "sm_86", (8, 9): "sm_89", (9, 0): "sm_90a",
            (10, 0): "sm_100a", (10, 3): "sm_103a", (12, 0): "sm_120a"}
_targets_of_devices = {}


def dtype_name(tensor):
    """The manifest's name of a tensor's dtype, or torch's where it has none."""
    return name_of_dtype(tensor.dtype)


def name_of_dtype(dtype):
    """The same of a dtype."""
    name = _names_of_dtypes.get(dtype)
    if name is None:
        text = str(dtype)
        name = _names_of_dtypes[dtype] = _NAMES.get(text, text)
    return name


def make_dtype(name):
    """torch's dtype for the manifest's name."""
    import torch
    return getattr(torch, _OF_TORCH[name])


def target(tensor):
    """The target of bundles that run on a tensor."""
    if not tensor.is_cuda:
        return "cpu"
    found = _targets_of_devices.get(tensor.device)
    if found is None:
        import torch
        capability = torch.cuda.get_device_capability(tensor.device)
        name = _TARGETS.get(capability) or _newest_before(capability)
        if name is None:
            known = ", ".join(f"{name} ({major}.{minor})"
                              for (major, minor), name in _TARGETS.items())
            raise DriverError(f"no target is for {tensor.device}, of compute capability "
                              f"{capability[0]}.{capability[1]}; there are {known}")
        found = _targets_of_devices[tensor.device] = name
    return found


def _newest_before(capability):
    """The newest target whose PTX also runs on this later architecture."""
    older = [c for c, name in _TARGETS.items() if not name.endswith("a") and c < capability]
    return _TARGETS[max(older)] if older else None


def cast(tensor, name):
    """The tensor with another dtype; itself if it has it."""
    return tensor.to(make_dtype(name))


def is_repeated(tensor, axis):
    """Whether all elements along an axis are one in memory."""
    return tensor.shape[axis] == 1 or tensor.stride(axis) == 0


def empty(shape, name, like):
    """A new tensor on the device of another."""
    import torch
    return torch.empty(shape, dtype=make_dtype(name), device=like.device)


def is_taken(function, argument, tensor):
    """Whether an argument of a function takes a tensor as it is."""
    if tensor.is_cuda and tensor.data_ptr() % argument.alignment:
        return False
    return tensor.is_contiguous() or function.takes_strides(argument, tensor.shape,
                                                            tensor.stride())


def make_dense(tensor):
    """A copy that every argument takes."""
    import torch
    return tensor.clone(memory_format=torch.contiguous_format)


def _device(function, tensors):
    """The one device of all tensors."""
    devices = {tensor.device for tensor in tensors.values()}
    on_cpu = function.target == "cpu"
    for name, tensor in tensors.items():
        if tensor.is_cuda == on_cpu:
            raise ArgumentError(f"{function.name}: argument '{name}': expected a "
                                f"{'CPU' if on_cpu else 'CUDA'} tensor, "
                                f"got one on {tensor.device}")
    if len(devices) != 1:
        raise ArgumentError(f"{function.name}: expected tensors on one device, got "
                            + (", ".join(sorted(map(str, devices))) or "no tensors"))
    return devices.pop()


def run(function, tensors):
    """Function.__call__: results by name."""
    for name, tensor in tensors.items():
        if not hasattr(tensor, "data_ptr"):
            raise ArgumentError(f"{function.name}: argument '{name}': expected a tensor, "
                                f"got {type(tensor).__name__}")
    device = _device(function, tensors)
    import torch
    call = function.call()

    def bind(name, tensor):
        strides = None
        if not tensor.is_contiguous():
            strides = tuple(tensor.stride())
            if function.argument(name).strides is None:
                raise ArgumentError(f"{function.name}: argument '{name}': expected a contiguous "
                                    f"tensor, got strides {strides}")
        call.bind(name, DeviceArray(tensor.data_ptr(), dtype_name(tensor), tensor.shape, strides))

    for name, tensor in tensors.items():
        bind(name, tensor)

    def make(argument, shape):
        tensor = torch.empty(shape, dtype=make_dtype(argument.dtype), device=device)
        bind(argument.name, tensor)
        return tensor

    results = collect_results(call, function, tensors, make)
    if function.target == "cpu":
        call.launch()
        return results
    with torch.cuda.device(device):
        # Freed memory is reused on this stream only, after the launches.
        workspace = torch.empty(call.workspace_bytes, dtype=torch.uint8, device=device)
        call.launch(workspace.data_ptr(), workspace.numel(),
                    torch.cuda.current_stream(device).cuda_stream)
    return results
