//===- Program.h - Kernels ready to run -------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel after decoding. Registers, special registers and constants all are
// places of one file with 32 lanes each, so that an instruction is a function
// over rows of that file.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_PROGRAM_H
#define MAMBA_LIB_SIM_PROGRAM_H

#include "mamba/Sim/Ptx.h"
#include "mamba/Sim/Simulator.h"

#include "llvm/ADT/BitVector.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace mamba::sim {

using ptx::Space;
using ptx::Type;

/// One bit a lane.
using LaneMask = uint32_t;
constexpr unsigned kLanes = 32;
constexpr LaneMask kAllLanes = ~LaneMask(0);

class Warp;
struct Inst;
using Handler = void (*)(Warp &, const Inst &, LaneMask);
/// See Definedness.h.
using Propagation = bool (*)(Warp &, const Inst &, unsigned lane, uint16_t *);

/// A row of the register file: 32 lanes of `bytes`, or one LaneMask.
struct Opnd {
  /// Bytes from the start of the file.
  uint32_t offset = 0;
  /// Index of the mask that says which lanes were written.
  uint32_t slot = 0;
  uint8_t bytes = 0;
  bool isPredicate = false;
  bool negated = false;
};

/// What the scheduler has to do with an instruction.
enum class Flow : uint8_t {
  None,
  Branch,        // to `target`
  BranchIndexed, // to `targets[operand]`
  Exit,
  BlockBarrier,     // Barriers.cpp
  WarpSync,         // runs when all lanes named by the mask have arrived
  Yield,            // runs, then lets other warps go on
  MbarrierWait,     // MbarrierWait.cpp
  TensorAllocation, // Tcgen05.cpp
  ClusterWait,      // ClusterBarrier.cpp
};

/// How an instruction is ordered with others on the same bytes.
enum class Strength : uint8_t { Weak, Strong, Atomic };

/// Whose accesses an operation is ordered with.
enum class MemoryScope : uint8_t { Block, Cluster, Device };

/// A decoded instruction. Operands are destinations, then sources.
struct Inst {
  Handler run = nullptr;
  /// Which bytes of the results are written if not all of the sources are;
  /// without it a source with unwritten bytes is a fault.
  Propagation propagate = nullptr;
  const Opnd *ops = nullptr;
  uint8_t numDsts = 0, numOps = 0;
  Flow flow = Flow::None;
  InstClass cls = InstClass::Integer;
  bool hasGuard = false, guardNegated = false;
  /// The last operand is a mask of the lanes that take part.
  bool hasMembers = false;
  /// Inserted where blocks were reordered; not counted.
  bool synthetic = false;
  /// Uses its registers until it is waited for.
  bool isAsync = false;
  Opnd guard;
  uint32_t line = 0;

  uint32_t target = 0;
  const std::vector<uint32_t> *targets = nullptr;

  // Memory: `count` elements of `bytes` at ops[address] + displacement.
  Space space = Space::Generic;
  Strength strength = Strength::Weak;
  MemoryScope scope = MemoryScope::Device;
  bool acquires = false, releases = false;
  /// ld.global.nc: of memory that nothing writes while the kernel runs.
  bool isNonCoherent = false;
  bool signExtend = false;
  uint8_t bytes = 0, count = 1, address = 0;
  int64_t displacement = 0;

  bool accessesMemory() const {
    switch (cls) {
    case InstClass::GlobalLoad:
    case InstClass::GlobalStore:
    case InstClass::SharedLoad:
    case InstClass::SharedStore:
    case InstClass::LocalAccess:
    case InstClass::ParamLoad:
    case InstClass::GenericAccess:
    case InstClass::Atomic:
    case InstClass::AsyncCopy:
      return true;
    default:
      return false;
    }
  }

  // Meaning depends on the instruction.
  uint8_t mode = 0, mode2 = 0;
  bool flag = false, flag2 = false;
  int64_t imm = 0;
  // For counters.
  bool isExponential = false;
  uint32_t matrixOperations = 0; // of the warp
};

/// A row whose lanes the launch fills in.
struct SpecialRow {
  std::string name; // "%tid.x"
  Opnd row;
};

struct Kernel {
  std::string name;
  std::vector<Inst> code;

  /// The register file of a warp when it starts: constants are in place.
  std::vector<char> file;
  /// The masks of written lanes when a warp starts.
  std::vector<LaneMask> written;
  std::vector<SpecialRow> specials;
  /// Names by slot, for messages; empty for constants.
  std::vector<std::string> slotNames;
  /// The first slots are the declared registers: 32-bit units of each, 0 for
  /// predicates.
  std::vector<uint8_t> registerUnits;
  /// `.maxnreg`, or 0.
  unsigned maxRegisters = 0;
  /// See countLiveRegisters; computed when first asked for.
  std::optional<unsigned> liveRegisters;

  std::vector<ptx::Variable> parameters;
  std::vector<uint64_t> parameterOffsets;
  uint64_t parameterBytes = 0;
  /// Whether there are acquires, releases or fences, and any for the threads of
  /// other blocks.
  bool ordersThreads = false, ordersBlocks = false;
  uint64_t staticShared = 0; // end of static variables, from address 0
  /// Where dynamic shared memory starts.
  uint64_t dynamicShared = 0;
  uint64_t localBytes = 0;
  /// Some instruction uses registers after it was executed.
  bool usesAsyncRegisters = false;
  bool usesTensorMemory = false;
  std::optional<std::vector<unsigned>> requiredBlock, maximumBlock,
      requiredCluster;
  /// Rows of constants that are addresses of shared memory, to which each block
  /// of a cluster adds its rank.
  std::vector<Opnd> sharedAddresses;

  // Owners of what instructions point to.
  std::deque<std::vector<Opnd>> operandLists;
  std::deque<std::vector<uint32_t>> branchTables;
};

/// The most 32-bit registers that are live at one place of the code.
unsigned countLiveRegisters(const Kernel &kernel);

/// Whether what follows the instruction is reached from elsewhere, or only if
/// its guard is false.
inline bool endsBlock(const Inst &inst) {
  return inst.flow == Flow::Branch || inst.flow == Flow::BranchIndexed ||
         inst.flow == Flow::Exit;
}
/// The instructions at which control flow may arrive: the first one, targets of
/// branches and what follows an end of a block. One bit more than instructions.
llvm::BitVector findBlockStarts(const std::vector<Inst> &code);

/// Shared memory below this address belongs to the system.
constexpr uint64_t kSharedStart = 1024;
/// Addresses of shared memory have the block's rank in its cluster above these
/// bits, as on Hopper.
constexpr unsigned kSharedBits = 24;

// Windows of the generic address space. Global buffers are above.
constexpr uint64_t kSharedWindow = uint64_t(1) << 32;
constexpr uint64_t kLocalWindow = uint64_t(2) << 32;
constexpr uint64_t kParamWindow = uint64_t(3) << 32;
constexpr uint64_t kWindowBytes = uint64_t(1) << 32;

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_PROGRAM_H
