//===- Conversion.h - Moving a value between layouts ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan says how the threads of a block turn one distributed layout of a value
// into another: within each thread, by warp shuffles, or through shared memory.
// It is data: a list of steps, each of which holds linear maps.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LAYOUT_CONVERSION_H
#define MAMBA_LAYOUT_CONVERSION_H

#include "mamba/Layout/LinearLayout.h"
#include "mamba/Layout/SharedMemory.h"

namespace mamba {

/// One step of a plan. Every thread holds a file of registers; a step makes a
/// new file from it. Maps are from (register, lane, warp), the place in the new
/// file (Store: in the current one).
struct ConversionStep {
  enum Kind {
    /// new[r] = old[map(r, lane, warp)]; map -> register. If the columns of
    /// lane
    /// and warp are 0, a renaming that costs nothing; else selects.
    Registers,
    /// new[r] = old[r] of lane map(r, lane, warp) of the same warp; map ->
    /// lane,
    /// for each r and warp a bijection of lanes.
    Shuffle,
    /// Writes the file to shared memory; access.offsets is the map -> offset.
    Store,
    /// All threads of the block, or (warpOnly) of the warp, reach this point.
    Barrier,
    /// Reads the file from shared memory; access.offsets is the map -> offset.
    Load,
  };
  Kind kind = Registers;
  LinearLayout map;
  SharedAccess access;
  bool warpOnly = false;
};

/// What one register needs in a shuffle step.
struct RegisterShuffle {
  enum Kind {
    /// Nothing: each lane keeps its own.
    Keep,
    /// shfl.sync.bfly with `mask`.
    Butterfly,
    /// shfl.sync.idx with the lane that the map gives.
    Index,
  };
  Kind kind;
  uint32_t mask;
};

struct ConversionPlan {
  enum Kind { SameThread, WithinWarp, ThroughShared };

  Kind kind = SameThread;
  unsigned elementBytes = 4;
  std::vector<ConversionStep> steps;
  /// ThroughShared: offset -> coordinates of the value, a bijection, and the
  /// bytes it takes. The memory starts at a multiple of 128 bytes.
  LinearLayout sharedLayout;
  uint64_t sharedBytes = 0;

  /// Warp-wide shuffles of up to 4 bytes. Elements narrower than that travel
  /// together where their registers stay neighbours (`getPackedBits`).
  unsigned countShuffles() const;
  /// The number of low register bits that pass unchanged through all steps up
  /// to 4 bytes: 2^bits elements can be packed into one register of the
  /// machine.
  unsigned getPackedBits() const;

  /// One step a line.
  std::string str() const;
};

/// For each register of a shuffle step.
std::vector<RegisterShuffle> getRegisterShuffles(const ConversionStep &step);

struct ConversionOptions {
  unsigned elementBytes = 4;
  /// ldmatrix and stmatrix may be used for 16-bit elements (stmatrix needs
  /// sm_90; ldmatrix is everywhere).
  bool useLdmatrix = true;
  bool useStmatrix = true;
  /// Take shared memory even where shuffles would do, for tests and tuning.
  bool forceShared = false;
};

/// Plans from -> to. Inputs are any of register, lane, warp; lanes and warps
/// that one side lacks hold copies. Elements that a thread holds twice are read
/// once. Fails if the outputs differ, a side does not hold every element, there
/// are more than 32 lanes, or elementBytes is not 1, 2, 4, 8 or 16.
llvm::Expected<ConversionPlan> planConversion(const LinearLayout &from,
                                              const LinearLayout &to,
                                              const ConversionOptions &options);

/// Plans the store of a value to shared memory whose layout is given, such as a
/// tile that TMA will read: a Registers step if needed, then a Store. offsets
/// maps the value's coordinates to the offset (sharedOffsets). Takes the access
/// with the fewest instructions and wavefronts; whether it has bank conflicts
/// is up to the layouts (countBankConflicts). Fails as planConversion does, or
/// if offsets does not fit the value.
llvm::Expected<std::vector<ConversionStep>>
planSharedStore(const LinearLayout &from, const LinearLayout &offsets,
                const ConversionOptions &options);

/// The same for a load: a Load, then a Registers step if needed.
llvm::Expected<std::vector<ConversionStep>>
planSharedLoad(const LinearLayout &to, const LinearLayout &offsets,
               const ConversionOptions &options);

} // namespace mamba

#endif // MAMBA_LAYOUT_CONVERSION_H
