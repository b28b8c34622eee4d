//===- Driver.h - The CUDA driver, opened at run time -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_RUNTIME_DRIVER_H
#define MAMBA_LIB_RUNTIME_DRIVER_H

#include <cstddef>
#include <cstdint>
#include <string>

// The types of cuda.h that we need, which is not there when we are built.
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;

namespace mamba::runtime {

using CUresult = int;
using CUdevice = int;
using CUcontext = CUctx_st *;
using CUmodule = CUmod_st *;
using CUfunction = CUfunc_st *;
using CUstream = CUstream_st *;

enum : int {
  CUDA_SUCCESS = 0,
  // CUdevice_attribute
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  // CUfunction_attribute
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
  // CUjit_option
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  // CUlaunchAttributeID
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  // CUstreamCaptureMode
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
  // CUtensorMapDataType
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
  CU_TENSOR_MAP_DATA_TYPE_INT32 = 3,
  CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4,
  CU_TENSOR_MAP_DATA_TYPE_INT64 = 5,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT64 = 8,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9,
  // CUtensorMapInterleave
  CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
  // CUtensorMapFloatOOBfill
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA = 1,
};

/// CUlaunchAttribute with the member of its 64-byte union that we use.
struct CUlaunchAttribute {
  int id;
  char padding[4];
  uint32_t cluster[3];
  char rest[52];
};
static_assert(sizeof(CUlaunchAttribute) == 72, "as in cuda.h");

struct CUlaunchConfig {
  uint32_t grid[3], block[3];
  uint32_t sharedBytes;
  CUstream stream;
  CUlaunchAttribute *attributes;
  uint32_t numAttributes;
};
static_assert(sizeof(CUlaunchConfig) == 56, "as in cuda.h");

struct alignas(64) CUtensorMap {
  uint64_t opaque[16];
};

class Driver {
public:
  /// Opens the driver on the first call; throws Error if that fails, and tries
  /// again on the next.
  static const Driver &get();
  /// What to open; throws Error if the driver is open.
  static void setPath(const std::string &path);

  /// Throws Error unless a call was successful: "<what>: <error>".
  void check(CUresult result, const std::string &what) const;
  /// Whether cuCtxGetId, of CUDA 12, is there.
  bool hasContextIds() const { return ctxGetId; }

  CUresult (*init)(unsigned);
  CUresult (*getErrorName)(CUresult, const char **);
  CUresult (*ctxGetCurrent)(CUcontext *);
  CUresult (*ctxPushCurrent)(CUcontext);
  CUresult (*ctxPopCurrent)(CUcontext *);
  CUresult (*ctxGetDevice)(CUdevice *);
  CUresult (*ctxGetId)(CUcontext, unsigned long long *);
  CUresult (*deviceGetAttribute)(int *, int, CUdevice);
  CUresult (*deviceGetName)(char *, int, CUdevice);
  CUresult (*streamGetCtx)(CUstream, CUcontext *);
  CUresult (*threadExchangeStreamCaptureMode)(int *);
  CUresult (*moduleLoadDataEx)(CUmodule *, const void *, unsigned, int *,
                               void **);
  CUresult (*moduleUnload)(CUmodule);
  CUresult (*moduleGetFunction)(CUfunction *, CUmodule, const char *);
  CUresult (*moduleGetGlobal)(uint64_t *, size_t *, CUmodule, const char *);
  CUresult (*funcSetAttribute)(CUfunction, int, int);
  CUresult (*launchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned,
                           unsigned, unsigned, unsigned, CUstream, void **,
                           void **);
  /// Null before CUDA 11.8.
  CUresult (*launchKernelEx)(const CUlaunchConfig *, CUfunction, void **,
                             void **);
  /// Null before CUDA 12. Of the map: data type, rank, address, sizes, strides,
  /// box, element strides, interleave, swizzle, L2 promotion, fill.
  CUresult (*tensorMapEncodeTiled)(CUtensorMap *, int, uint32_t, void *,
                                   const uint64_t *, const uint64_t *,
                                   const uint32_t *, const uint32_t *, int, int,
                                   int, int);

private:
  explicit Driver(const std::string &path);
};

/// Makes a stream's context current while it lives.
class ContextScope {
public:
  /// The default streams belong to the current context; throws Error if there
  /// is none.
  ContextScope(const Driver &driver, CUstream stream);
  ContextScope(const Driver &driver, CUcontext context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

  CUcontext get() const { return context; }

private:
  void enter();

  const Driver &driver;
  CUcontext context = nullptr;
  bool pushed = false;
};

} // namespace mamba::runtime

#endif // MAMBA_LIB_RUNTIME_DRIVER_H
