//===- Driver.cpp - The CUDA driver, opened at run time -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "Error.h"

#include <memory>
#include <mutex>

#include <dlfcn.h>

namespace mamba::runtime {
namespace {

struct State {
  std::mutex mutex;
  std::string path = "libcuda.so.1";
  std::unique_ptr<Driver> driver;
};

/// Never destroyed, since bundles may be when the process ends.
State &getState() {
  static State *state = new State;
  return *state;
}

template <typename Function>
void find(void *library, const char *name, Function *&function,
          bool isOptional = false) {
  function = reinterpret_cast<Function *>(dlsym(library, name));
  if (!function && !isOptional)
    throw Error(MAMBA_STATUS_DRIVER, std::string("the CUDA driver has no ") +
                                         name + "; is it older than CUDA 11?");
}

} // namespace

Driver::Driver(const std::string &path) {
  // Stays open: kernels may run until the process ends.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw Error(MAMBA_STATUS_DRIVER,
                std::string("cannot open the CUDA driver: ") + dlerror());
  find(library, "cuInit", init);
  find(library, "cuGetErrorName", getErrorName);
  find(library, "cuCtxGetCurrent", ctxGetCurrent);
  find(library, "cuCtxPushCurrent_v2", ctxPushCurrent);
  find(library, "cuCtxPopCurrent_v2", ctxPopCurrent);
  find(library, "cuCtxGetDevice", ctxGetDevice);
  find(library, "cuCtxGetId", ctxGetId, /*isOptional=*/true);
  find(library, "cuDeviceGetAttribute", deviceGetAttribute);
  find(library, "cuDeviceGetName", deviceGetName);
  find(library, "cuStreamGetCtx", streamGetCtx);
  find(library, "cuThreadExchangeStreamCaptureMode",
       threadExchangeStreamCaptureMode);
  find(library, "cuModuleLoadDataEx", moduleLoadDataEx);
  find(library, "cuModuleUnload", moduleUnload);
  find(library, "cuModuleGetFunction", moduleGetFunction);
  find(library, "cuModuleGetGlobal_v2", moduleGetGlobal);
  find(library, "cuFuncSetAttribute", funcSetAttribute);
  find(library, "cuLaunchKernel", launchKernel);
  find(library, "cuLaunchKernelEx", launchKernelEx, /*isOptional=*/true);
  find(library, "cuTensorMapEncodeTiled", tensorMapEncodeTiled,
       /*isOptional=*/true);
  check(init(0), "cuInit");
}

const Driver &Driver::get() {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (!state.driver)
    state.driver.reset(new Driver(state.path));
  return *state.driver;
}

void Driver::setPath(const std::string &path) {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.driver)
    throw Error(MAMBA_STATUS_MISUSE,
                "the CUDA driver is open already (" + state.path + ")");
  state.path = path;
}

void Driver::check(CUresult result, const std::string &what) const {
  if (result == CUDA_SUCCESS)
    return;
  const char *name = nullptr;
  getErrorName(result, &name);
  throw Error(MAMBA_STATUS_DRIVER, what + ": " +
                                       (name ? name : "unknown error") + " (" +
                                       std::to_string(result) + ")");
}

ContextScope::ContextScope(const Driver &driver, CUstream stream)
    : driver(driver) {
  // CU_STREAM_LEGACY is 1, CU_STREAM_PER_THREAD 2.
  if (reinterpret_cast<uintptr_t>(stream) <= 2) {
    driver.check(driver.ctxGetCurrent(&context), "cuCtxGetCurrent");
    if (!context)
      throw Error(MAMBA_STATUS_DRIVER,
                  "no CUDA context is current in this thread");
    return;
  }
  driver.check(driver.streamGetCtx(stream, &context), "cuStreamGetCtx");
  enter();
}

ContextScope::ContextScope(const Driver &driver, CUcontext context)
    : driver(driver), context(context) {
  enter();
}

void ContextScope::enter() {
  CUcontext current = nullptr;
  driver.check(driver.ctxGetCurrent(&current), "cuCtxGetCurrent");
  if (current == context)
    return;
  driver.check(driver.ctxPushCurrent(context), "cuCtxPushCurrent");
  pushed = true;
}

ContextScope::~ContextScope() {
  if (pushed)
    driver.ctxPopCurrent(&context);
}

} // namespace mamba::runtime
