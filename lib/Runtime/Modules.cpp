//===- Modules.cpp - Kernels loaded into contexts -------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Modules.h"
#include "Error.h"

#include <cstdio>

namespace mamba::runtime {
namespace {

/// More dynamic shared memory than this must be asked for.
constexpr uint32_t kUsualSharedBytes = 48 << 10;
/// Larger clusters must be asked for.
constexpr uint32_t kUsualClusterBlocks = 8;

/// Lets this thread load modules while a stream is being captured.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const Driver &driver) : driver(driver) { exchange(); }
  ~RelaxedCapture() { exchange(); }

private:
  void exchange() { driver.threadExchangeStreamCaptureMode(&mode); }

  const Driver &driver;
  int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// Whether PTX for `target` (sm_90, sm_90a, sm_100f, ..) runs on a device.
bool runsOn(const std::string &target, int major, int minor) {
  int number = 0;
  char suffix = 0;
  if (std::sscanf(target.c_str(), "sm_%d%c", &number, &suffix) < 1)
    return true; // The driver knows.
  int wanted = number % 10;
  if (suffix == 'a')
    return number / 10 == major && wanted == minor;
  if (suffix == 'f')
    return number / 10 == major && wanted <= minor;
  return number <= major * 10 + minor;
}

} // namespace

ContextModules::ContextModules(const Manifest &manifest, CUcontext context,
                               uint64_t id)
    : manifest(manifest), context(context), id(id),
      modules(manifest.ptxFiles.size()), kernels(manifest.kernels.size()),
      isLoaded(new std::atomic<bool>[manifest.functions.size()]()) {}

void ContextModules::checkDevice(const Driver &driver) {
  CUdevice device = 0;
  int major = 0, minor = 0;
  char name[256] = "";
  driver.check(driver.ctxGetDevice(&device), "cuCtxGetDevice");
  for (auto [attribute, value] :
       {std::pair(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major),
        std::pair(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor)})
    driver.check(driver.deviceGetAttribute(value, attribute, device),
                 "cuDeviceGetAttribute");
  if (runsOn(manifest.target, major, minor))
    return;
  driver.deviceGetName(name, sizeof(name), device);
  throw Error(MAMBA_STATUS_DRIVER,
              "the bundle is for " + manifest.target + ", and device " +
                  std::to_string(device) + " (" + name + ") is sm_" +
                  std::to_string(major) + std::to_string(minor));
}

uint64_t ContextModules::getZeros(const Driver &driver) {
  // A variable without an initializer is zero.
  static const PtxFile zeros = {
      "zeros", ".version 7.0\n"
               ".target sm_80\n"
               ".address_size 64\n"
               ".visible .global .align 128 .b8 mamba_zeros[128];\n"};
  std::lock_guard<std::mutex> lock(mutex);
  if (!zerosModule) {
    RelaxedCapture relaxed(driver);
    zerosModule = loadModule(driver, zeros);
  }
  uint64_t address = 0;
  size_t bytes = 0;
  driver.check(
      driver.moduleGetGlobal(&address, &bytes, zerosModule, "mamba_zeros"),
      "cuModuleGetGlobal");
  return address;
}

CUmodule ContextModules::loadModule(const Driver &driver, const PtxFile &file) {
  std::vector<char> log(16384);
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
  CUmodule module = nullptr;
  CUresult result =
      driver.moduleLoadDataEx(&module, file.text.c_str(), 2, options, values);
  std::string what = "loading " + file.name;
  if (result != CUDA_SUCCESS && log[0])
    what += ": " + std::string(log.data());
  driver.check(result, what);
  return module;
}

CUfunction ContextModules::loadKernel(const Driver &driver,
                                      const Kernel &kernel) {
  CUmodule &module = modules[kernel.ptx];
  if (!module)
    module = loadModule(driver, manifest.ptxFiles[kernel.ptx]);
  std::string name =
      "kernel '" + kernel.name + "' of " + manifest.ptxFiles[kernel.ptx].name;
  CUfunction function = nullptr;
  driver.check(driver.moduleGetFunction(&function, module, kernel.name.c_str()),
               name);
  if (kernel.sharedBytes > kUsualSharedBytes)
    driver.check(driver.funcSetAttribute(
                     function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                     int(kernel.sharedBytes)),
                 name + " with " + std::to_string(kernel.sharedBytes) +
                     " bytes of shared memory");
  if (kernel.clusterBlocks > kUsualClusterBlocks)
    driver.check(
        driver.funcSetAttribute(
            function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
        name + " with clusters of " + std::to_string(kernel.clusterBlocks) +
            " blocks");
  return function;
}

void ContextModules::load(const Driver &driver, const Function &function) {
  std::atomic<bool> &ready = isLoaded[function.index];
  if (ready.load(std::memory_order_acquire))
    return;
  std::lock_guard<std::mutex> lock(mutex);
  if (ready.load(std::memory_order_relaxed))
    return;
  RelaxedCapture relaxed(driver);
  if (!isDeviceChecked) {
    checkDevice(driver);
    isDeviceChecked = true;
  }
  for (const Variant &variant : function.variants)
    for (const Launch &launch : variant.launches)
      if (!kernels[launch.kernel])
        kernels[launch.kernel] =
            loadKernel(driver, manifest.kernels[launch.kernel]);
  ready.store(true, std::memory_order_release);
}

void ContextModules::unload(const Driver &driver) {
  try {
    ContextScope scope(driver, context);
    for (CUmodule module : modules)
      if (module)
        driver.moduleUnload(module);
    if (zerosModule)
      driver.moduleUnload(zerosModule);
  } catch (const Error &) {
    // The context or the driver is gone, and the modules with it.
  }
}

std::shared_ptr<ContextModules> Modules::load(const Driver &driver,
                                              CUcontext context,
                                              const Function &function) {
  // Another context may have the handle of one that was destroyed.
  unsigned long long id = 0;
  if (driver.hasContextIds())
    driver.check(driver.ctxGetId(context, &id), "cuCtxGetId");
  std::shared_ptr<ContextModules> modules;
  {
    std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<ContextModules> &entry = byContext[context];
    if (!entry || entry->getId() != id)
      entry = std::make_shared<ContextModules>(manifest, context, id);
    modules = entry;
  }
  modules->load(driver, function);
  return modules;
}

Modules::~Modules() {
  if (byContext.empty())
    return;
  const Driver &driver = Driver::get(); // It is open.
  for (auto &[context, modules] : byContext)
    modules->unload(driver);
}

} // namespace mamba::runtime
