//===- Launch.cpp - Loading modules and running kernels -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"
#include "Decoder.h"

#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"

#include <mutex>
#include <numeric>

using namespace llvm;

namespace mamba::sim {

/// Of sm_90 and sm_100; smaller architectures are the compiler's concern.
static constexpr uint64_t kMaxSharedBytes = 232448;
static constexpr unsigned kMaxThreads = 1024;
static constexpr unsigned kMaxClusterBlocks = 16;

Program::Program() = default;
Program::Program(Program &&) = default;
Program::~Program() = default;

Expected<Program> Program::load(std::unique_ptr<MemoryBuffer> text,
                                StringRef file, Device &device) {
  Expected<ptx::Module> module = ptx::parse(std::move(text), file);
  if (!module)
    return module.takeError();
  Program program;
  program.device = &device;
  program.file = file.str();
  StringMap<uint64_t> globals;
  for (const ptx::Variable &variable : module->variables) {
    if (variable.space == Space::Shared)
      continue;
    BufferRole role =
        variable.space == Space::Const ? BufferRole::Input : BufferRole::InOut;
    uint64_t address = device.allocate(variable.name, variable.size, role);
    std::copy(variable.initializer.begin(), variable.initializer.end(),
              device.getImpl().lookup(address)->data);
    globals[variable.name] = address;
  }
  for (ptx::Entry &entry : module->entries) {
    if (Error error = ptx::inlineCalls(*module, entry))
      return std::move(error);
    auto kernel = std::make_unique<Kernel>();
    Decoder decoder(*module, entry, globals, *kernel);
    if (!decoder.decodeKernel())
      return createStringError(decoder.message);
    program.kernels.push_back(std::move(kernel));
  }
  return std::move(program);
}

std::vector<std::string> Program::getKernelNames() const {
  std::vector<std::string> names;
  for (const std::unique_ptr<Kernel> &kernel : kernels)
    names.push_back(kernel->name);
  return names;
}

static std::array<unsigned, 3> getCluster(const Kernel &kernel,
                                          const LaunchOptions &options) {
  if (!kernel.requiredCluster)
    return options.cluster;
  const std::vector<unsigned> &size = *kernel.requiredCluster;
  return {size[0], size[1], size[2]};
}

static Error checkLaunch(const Kernel &kernel, const LaunchOptions &options,
                         ArrayRef<std::vector<uint8_t>> parameters) {
  auto fail = [&](const Twine &message) {
    return createStringError("kernel '" + kernel.name + "': " + message);
  };
  uint64_t threads = 1;
  for (unsigned size : options.block)
    threads *= size;
  if (!threads || threads > kMaxThreads)
    return fail("a block of " + Twine(threads) + " threads");
  if (kernel.requiredBlock &&
      !std::equal(options.block.begin(), options.block.end(),
                  kernel.requiredBlock->begin()))
    return fail("the block differs from its .reqntid");
  if (kernel.maximumBlock) {
    uint64_t maximum = 1;
    for (unsigned size : *kernel.maximumBlock)
      maximum *= size;
    if (threads > maximum)
      return fail("the block is larger than its .maxntid");
  }
  std::array<unsigned, 3> cluster = getCluster(kernel, options);
  if (cluster != options.cluster &&
      options.cluster != std::array<unsigned, 3>{1, 1, 1})
    return fail("the cluster differs from its .reqnctapercluster");
  uint64_t clusterBlocks = 1;
  for (auto [size, blocks] : zip_equal(cluster, options.grid)) {
    clusterBlocks *= size;
    if (!size || blocks % size)
      return fail("a grid of " + Twine(blocks) + " blocks and a cluster of " +
                  Twine(size) + " along one axis");
  }
  if (clusterBlocks > kMaxClusterBlocks)
    return fail("a cluster of " + Twine(clusterBlocks) + " blocks");
  if (parameters.size() != kernel.parameters.size())
    return fail("it has " + Twine(kernel.parameters.size()) +
                " parameters, got " + Twine(parameters.size()));
  for (auto [index, parameter] : enumerate(kernel.parameters))
    if (parameters[index].size() != parameter.size)
      return fail("parameter " + Twine(index) + " has " +
                  Twine(parameter.size) + " bytes, got " +
                  Twine(parameters[index].size()));
  uint64_t shared =
      options.dynamicSharedBytes
          ? kernel.dynamicShared + options.dynamicSharedBytes - kSharedStart
          : kernel.staticShared - kSharedStart;
  if (shared > kMaxSharedBytes)
    return fail(Twine(shared) + " bytes of shared memory, more than " +
                Twine(kMaxSharedBytes));
  return Error::success();
}

/// Keeps of each finding the one of the first block, so that the result does
/// not depend on how blocks are spread over host threads.
static void
mergeFindings(std::map<std::pair<unsigned, uint32_t>, Block::Found> &all,
              Block &block) {
  for (auto &[key, found] : block.findings) {
    auto [it, inserted] = all.try_emplace(key, found);
    if (inserted)
      continue;
    uint64_t count = it->second.finding.count + found.finding.count;
    if (found.block < it->second.block)
      it->second = found;
    it->second.finding.count = count;
  }
}

/// What a launch may change.
namespace {
class Snapshot {
public:
  explicit Snapshot(Device::Impl &device) : device(device) {
    for (const Buffer &buffer : device.buffers) {
      copies.emplace_back();
      if (buffer.role == BufferRole::Input)
        continue;
      copies.back().data.assign(buffer.data, buffer.data + buffer.size);
      if (buffer.written)
        copies.back().written.assign(buffer.written.get(),
                                     buffer.written.get() + buffer.size);
    }
  }
  void restore() const {
    for (auto [buffer, copy] : zip_equal(device.buffers, copies)) {
      llvm::copy(copy.data, buffer.data);
      llvm::copy(copy.written, buffer.written.get());
    }
  }

private:
  struct Copy {
    std::vector<uint8_t> data, written;
  };
  Device::Impl &device;
  std::vector<Copy> copies;
};
} // namespace

/// Runs all clusters on `jobs` host threads. Returns whether the findings may
/// depend on their order.
static Expected<bool> runClusters(Launch launch, uint64_t numClusters,
                                  unsigned jobs, LaunchResult &result) {
  std::optional<GlobalShadow> shadow;
  if (launch.options.sanitize && numClusters < GlobalShadow::kMaxClusters) {
    shadow.emplace(launch.device, launch.kernel, jobs > 1);
    if (!*shadow)
      return createStringError("kernel '" + launch.kernel.name +
                               "': too little memory to look for races in the "
                               "memory that it may write");
    launch.globalShadow = &*shadow;
  }
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  std::map<std::pair<unsigned, uint32_t>, Block::Found> findings;
  auto work = [&] {
    std::unique_ptr<Cluster> cluster;
    for (uint64_t index; (index = next++) < numClusters;) {
      if (!cluster)
        cluster = std::make_unique<Cluster>(launch);
      // Seeds use another order, unless blocks may wait for earlier ones.
      bool reversed = launch.options.seed & 1 && !launch.kernel.ordersBlocks;
      cluster->run(reversed ? numClusters - 1 - index : index);
    }
    if (!cluster)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    for (std::unique_ptr<Block> &block : cluster->blocks) {
      block->finishCounters();
      result.counters += block->counters;
      mergeFindings(findings, *block);
    }
  };
  if (jobs <= 1) {
    work();
  } else {
    DefaultThreadPool pool(hardware_concurrency(jobs));
    for (unsigned i = 0; i != jobs; ++i)
      pool.async(work);
    pool.wait();
  }
  for (auto &[key, found] : findings)
    result.findings.push_back(std::move(found.finding));
  return shadow && shadow->hasRaceBetweenBlocks();
}

Expected<LaunchResult>
Program::launch(StringRef name, const LaunchOptions &options,
                ArrayRef<std::vector<uint8_t>> parameters) {
  auto it = find_if(kernels, [&](const std::unique_ptr<Kernel> &kernel) {
    return kernel->name == name;
  });
  if (it == kernels.end())
    return createStringError(file + ": there is no kernel '" + name + "'");
  Kernel &kernel = **it;
  if (Error error = checkLaunch(kernel, options, parameters))
    return std::move(error);

  Launch launch{kernel, options, device->getImpl(),
                file,   {},      options.dynamicSharedBytes};
  launch.cluster = getCluster(kernel, options);
  launch.isExplicitCluster =
      kernel.requiredCluster ||
      options.cluster != std::array<unsigned, 3>{1, 1, 1};
  launch.parameters.resize(kernel.parameterBytes);
  for (auto [bytes, offset] : zip_equal(parameters, kernel.parameterOffsets))
    std::copy(bytes.begin(), bytes.end(), launch.parameters.begin() + offset);

  uint64_t numClusters = 1;
  for (unsigned axis = 0; axis != 3; ++axis)
    numClusters *= options.grid[axis] / launch.cluster[axis];
  LaunchResult result;
  if (options.countMemory) {
    if (!kernel.liveRegisters)
      kernel.liveRegisters = countLiveRegisters(kernel);
    result.counters.liveRegisters = *kernel.liveRegisters;
    result.counters.declaredRegisters = std::accumulate(
        kernel.registerUnits.begin(), kernel.registerUnits.end(), uint64_t(0));
    result.counters.maxRegisters = kernel.maxRegisters;
  }
  unsigned jobs = std::min<uint64_t>(
      options.jobs ? options.jobs
                   : hardware_concurrency().compute_thread_count(),
      numClusters);
  // Blocks that wait for each other run in order.
  if (kernel.ordersBlocks)
    jobs = 1;
  std::optional<Snapshot> snapshot;
  if (jobs > 1 && options.sanitize)
    snapshot.emplace(device->getImpl());
  LaunchResult before = result;
  Expected<bool> dependsOnOrder =
      runClusters(launch, numClusters, jobs, result);
  if (dependsOnOrder && *dependsOnOrder && snapshot) {
    // Findings are to be those of the plain order.
    snapshot->restore();
    result = std::move(before);
    dependsOnOrder = runClusters(launch, numClusters, 1, result);
  }
  if (!dependsOnOrder)
    return dependsOnOrder.takeError();
  llvm::sort(result.findings, [](const Finding &a, const Finding &b) {
    return std::pair(a.line, a.kind) < std::pair(b.line, b.kind);
  });
  return result;
}

} // namespace mamba::sim
