"""Functions of a bundle on torch tensors."""

from mamba_mlir._library import ArgumentError
from mamba_mlir.bundle import DeviceArray


def _dtypes(torch):
    names = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64",
             "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
             "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64"}
    return {name: getattr(torch, of_torch) for name, of_torch in names.items()
            if hasattr(torch, of_torch)}


def _device(function, tensors):
    """The one CUDA device of all tensors."""
    devices = {tensor.device for tensor in tensors.values()}
    for name, tensor in tensors.items():
        if not tensor.is_cuda:
            raise ArgumentError(f"{function.name}: argument '{name}': expected a CUDA tensor, "
                                f"got one on {tensor.device}")
    if len(devices) != 1:
        raise ArgumentError(f"{function.name}: expected tensors on one device, got "
                            + (", ".join(sorted(map(str, devices))) or "no tensors"))
    return devices.pop()


def run(function, tensors):
    """Function.__call__: results by name."""
    import torch
    dtypes = _dtypes(torch)
    names = {of_torch: name for name, of_torch in dtypes.items()}
    device = _device(function, tensors)
    call = function.call()

    def bind(name, tensor):
        if not tensor.is_contiguous():
            raise ArgumentError(f"{function.name}: argument '{name}': expected a contiguous "
                                f"tensor, got strides {tuple(tensor.stride())}")
        dtype = names.get(tensor.dtype, str(tensor.dtype))
        call.bind(name, DeviceArray(tensor.data_ptr(), dtype, tuple(tensor.shape)))

    for name, tensor in tensors.items():
        bind(name, tensor)
    results = {}
    for argument in function.arguments:
        if argument.role == "input":
            continue
        tensor = tensors.get(argument.name)
        if tensor is None:
            # Also says which inputs are missing.
            shape = call.shape(argument.name)
            if argument.role == "output":
                tensor = torch.empty(shape, dtype=dtypes[argument.dtype], device=device)
                bind(argument.name, tensor)
        results[argument.result] = tensor
    with torch.cuda.device(device):
        # Freed memory is reused on this stream only, after the launches.
        workspace = torch.empty(call.workspace_bytes, dtype=torch.uint8, device=device)
        call.launch(workspace.data_ptr(), workspace.numel(),
                    torch.cuda.current_stream(device).cuda_stream)
    return results
