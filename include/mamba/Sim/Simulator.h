//===- Simulator.h - Running PTX on the CPU ---------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes the kernels of a PTX module functionally: no time is modelled. Next
// to the results it gives a list of findings, faults such as an access outside
// of every buffer that a GPU may or may not notice, and counters.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_SIM_SIMULATOR_H
#define MAMBA_SIM_SIMULATOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mamba::sim {

/// Classes of instructions that are counted.
enum class InstClass : uint8_t {
  Integer,
  Float,
  Half, // f16 and bf16 arithmetic
  Double,
  Special, // approximate functions and divisions
  Convert,
  Move,
  Control,
  Barrier,
  WarpWide, // shuffles, votes
  GlobalLoad,
  GlobalStore,
  SharedLoad,
  SharedStore,
  LocalAccess,
  ParamLoad,
  GenericAccess,
  Atomic,
  AsyncCopy,
  Matrix,
  Other,
};
constexpr unsigned kNumInstClasses = unsigned(InstClass::Other) + 1;

/// "integer".
llvm::StringRef getName(InstClass cls);

/// Ways that data take, each with a counter of bytes.
enum class BytePath : uint8_t {
  GlobalLoad,
  GlobalStore,
  AsyncCopy, // cp.async
  BulkLoad,  // bulk and tensor copies into shared memory
  BulkStore, // and out of it
  SharedLoad,
  SharedStore,
  Cluster, // shared memory of other blocks
  TensorMemory,
  Local,
  Param,
  Atomic,
};
constexpr unsigned kNumBytePaths = unsigned(BytePath::Atomic) + 1;

/// "global-load".
llvm::StringRef getName(BytePath path);

enum class FindingKind : uint8_t {
  OutOfBounds,
  Misaligned,
  ReadOnly,           // a write to an input or a constant
  UninitializedRead,  // of memory
  UninitializedValue, // of a register
  Race,
  InFlight, // an access to what an asynchronous instruction still uses
  BarrierMisuse,
  Proxy,     // no proxy fence before an asynchronous read
  TensorMap, // no tensor map, or coordinates that it does not allow
  Deadlock,
  Limit, // more instructions than allowed
  Trap,
  MissingFence,    // between registers or memory and another proxy
  TensorMemory,    // its allocation, and which warps access which lanes
  Descriptor,      // of a matrix or an instruction
  UnwrittenResult, // of a function, not of one instruction
};

/// "out-of-bounds".
llvm::StringRef getName(FindingKind kind);

/// A fault of a kernel: the first one of its kind at its instruction.
struct Finding {
  FindingKind kind;
  std::string kernel;
  std::string file;
  unsigned line;
  std::array<unsigned, 3> block, thread;
  /// Absent if the fault has none.
  std::optional<uint64_t> address;
  std::string message;
  /// How often it occurred.
  uint64_t count = 1;

  /// "FILE:LINE: KIND: message (kernel, block, thread, address)", without the
  /// place if the line is 0.
  std::string str() const;
};

/// What a launch did. Requests are warp-wide.
struct Counters {
  std::array<uint64_t, kNumInstClasses> warpInstructions{};
  std::array<uint64_t, kNumInstClasses> threadInstructions{};
  uint64_t blocks = 0, warps = 0;
  uint64_t sharedRequests = 0;
  /// Passes over shared memory, and how many would do without conflicts.
  uint64_t sharedPasses = 0, sharedIdealPasses = 0;
  uint64_t globalLoadRequests = 0, globalLoadSectors = 0,
           globalLoadIdealSectors = 0, globalLoadBytes = 0;
  uint64_t globalStoreRequests = 0, globalStoreSectors = 0,
           globalStoreIdealSectors = 0, globalStoreBytes = 0;
  /// Floating-point operations of matrix instructions.
  uint64_t matrixOperations = 0;
  uint64_t exponentials = 0;
  /// Lanes of a request that have one address count once.
  std::array<uint64_t, kNumBytePaths> bytes{};
  /// Of a thread, in units of 32 bits: the most that are live at once, those
  /// declared, and the kernel's `.maxnreg` (0 if it has none).
  uint64_t liveRegisters = 0, declaredRegisters = 0, maxRegisters = 0;

  uint64_t getThreadInstructions() const;
  Counters &operator+=(const Counters &other);
  llvm::json::Object toJSON() const;
  void print(llvm::raw_ostream &os) const;
};

/// Who fills a buffer, as the sanitizer sees it.
enum class BufferRole : uint8_t { Input, Output, InOut };

/// Global memory: buffers with unmapped space between them.
class Device {
public:
  Device();
  ~Device();
  Device(const Device &) = delete;

  /// A buffer of `size` bytes at `data`, which outlives the device. `Input` is
  /// read-only for kernels; bytes of an `Output` are unwritten. Races are
  /// looked for in units of `elementBytes` if no access is smaller.
  uint64_t add(llvm::StringRef name, void *data, size_t size, BufferRole role,
               unsigned elementBytes = 1);
  /// A buffer that the device owns, `Output` filled with 0xFF or zeros.
  uint64_t allocate(llvm::StringRef name, size_t size, BufferRole role);

  /// Bytes of the buffer at `address` that nothing wrote, and the first one.
  struct Unwritten {
    uint64_t count, first;
  };
  Unwritten getUnwritten(uint64_t address) const;

  struct Impl;
  Impl &getImpl() { return *impl; }

private:
  std::unique_ptr<Impl> impl;
};

struct LaunchOptions {
  std::array<unsigned, 3> grid{1, 1, 1}, block{1, 1, 1};
  /// Blocks of a cluster; a kernel may demand it itself.
  std::array<unsigned, 3> cluster{1, 1, 1};
  uint64_t dynamicSharedBytes = 0;
  /// Host threads; 0 is one a processor.
  unsigned jobs = 0;
  /// Races, unwritten data and read-only buffers. Accesses out of bounds and
  /// deadlocks are found in any case.
  bool sanitize = true;
  /// Bank conflicts, sectors, bytes and live registers.
  bool countMemory = false;
  /// Permutes the order of warps and blocks unless it is 0.
  uint64_t seed = 0;
  /// Warp instructions that one block may execute.
  uint64_t maxInstructions = uint64_t(1) << 32;
};

struct LaunchResult {
  /// Ordered by line.
  std::vector<Finding> findings;
  Counters counters;
};

struct Kernel;

/// A module whose kernels have been decoded.
class Program {
public:
  /// Places the module's variables on `device`. Fails with "FILE:LINE:
  /// message" if it cannot be parsed or uses what is not modelled.
  static llvm::Expected<Program> load(std::unique_ptr<llvm::MemoryBuffer> text,
                                      llvm::StringRef file, Device &device);
  Program(Program &&);
  ~Program();

  std::vector<std::string> getKernelNames() const;

  /// Runs a kernel on all blocks. `parameters` are the bytes of each parameter
  /// in order. Fails if the launch itself is wrong: an unknown kernel, another
  /// number or size of parameters, block sizes or shared memory over the limit.
  llvm::Expected<LaunchResult>
  launch(llvm::StringRef kernel, const LaunchOptions &options,
         llvm::ArrayRef<std::vector<uint8_t>> parameters);

private:
  Program();
  Device *device;
  std::string file;
  std::vector<std::unique_ptr<Kernel>> kernels;
};

} // namespace mamba::sim

#endif // MAMBA_SIM_SIMULATOR_H
