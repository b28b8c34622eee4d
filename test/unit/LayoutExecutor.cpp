//===- LayoutExecutor.cpp - Runs conversion plans on all threads ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutExecutor.h"

namespace mamba {

/// What memory and registers hold before anything was written.
static constexpr int64_t kNothing = -1;

static std::string at(uint32_t warp, uint32_t lane, uint64_t reg) {
  return " at warp " + std::to_string(warp) + " lane " + std::to_string(lane) +
         " register " + std::to_string(reg);
}

/// A copy with inputs register, lane (5 bits), warp, in this order.
static LinearLayout normalized(const LinearLayout &layout, uint32_t warps) {
  unsigned warpBits = 0;
  while (1u << warpBits < warps)
    ++warpBits;
  return layout.selectIns({kRegister, kLane, kWarp})
      .resizeIn(kLane, 5)
      .resizeIn(kWarp, warpBits);
}

LayoutExecutor::LayoutExecutor(const LinearLayout &layout, uint32_t warps)
    : warps(warps), files(32 * warps) {
  LinearLayout held = normalized(layout, warps);
  for (uint32_t warp = 0; warp < warps; ++warp)
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t reg = 0; reg < held.getInSize(kRegister); ++reg)
        files[32 * warp + lane].push_back(
            held.applyFlat(held.flattenIn({reg, lane, warp})));
}

std::string LayoutExecutor::compare(const LinearLayout &layout) const {
  LinearLayout held = normalized(layout, warps);
  for (uint32_t warp = 0; warp < warps; ++warp) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const std::vector<int64_t> &file = files[32 * warp + lane];
      if (file.size() != held.getInSize(kRegister))
        return "expected another number of registers";
      for (uint32_t reg = 0; reg < file.size(); ++reg)
        if (file[reg] !=
            int64_t(held.applyFlat(held.flattenIn({reg, lane, warp}))))
          return "wrong element" + at(warp, lane, reg);
    }
  }
  return "";
}

std::string LayoutExecutor::run(const ConversionPlan &plan) {
  memory.assign(plan.sharedBytes / plan.elementBytes, kNothing);
  for (const ConversionStep &step : plan.steps) {
    std::string problem;
    switch (step.kind) {
    case ConversionStep::Registers:
      problem = moveRegisters(step.map);
      break;
    case ConversionStep::Shuffle:
      problem = shuffle(step);
      break;
    case ConversionStep::Store:
    case ConversionStep::Load:
      problem = access(step.access, step.kind == ConversionStep::Load);
      break;
    case ConversionStep::Barrier:
      break;
    }
    if (!problem.empty())
      return problem;
  }
  return "";
}

std::string LayoutExecutor::moveRegisters(const LinearLayout &map) {
  Files moved(files.size());
  for (uint32_t warp = 0; warp < warps; ++warp) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const std::vector<int64_t> &old = files[32 * warp + lane];
      for (uint32_t reg = 0; reg < map.getInSize(kRegister); ++reg) {
        uint32_t from = map.apply({reg, lane, warp})[0];
        if (from >= old.size())
          return "no such register" + at(warp, lane, from);
        moved[32 * warp + lane].push_back(old[from]);
      }
    }
  }
  files = std::move(moved);
  return "";
}

std::string LayoutExecutor::shuffle(const ConversionStep &step) {
  std::vector<RegisterShuffle> shuffles = getRegisterShuffles(step);
  if (shuffles.size() != files.front().size())
    return "expected a shuffle of every register";
  Files moved = files;
  for (uint32_t warp = 0; warp < warps; ++warp) {
    for (uint32_t reg = 0; reg < shuffles.size(); ++reg) {
      uint32_t asked = 0;
      for (uint32_t lane = 0; lane < 32; ++lane) {
        uint32_t from = step.map.apply({reg, lane, warp})[0];
        if (shuffles[reg].kind != RegisterShuffle::Index &&
            from != (lane ^ shuffles[reg].mask))
          return "expected a butterfly" + at(warp, lane, reg);
        if (shuffles[reg].kind == RegisterShuffle::Keep && from != lane)
          return "expected no shuffle" + at(warp, lane, reg);
        asked |= 1u << from;
        moved[32 * warp + lane][reg] = files[32 * warp + from][reg];
      }
      if (asked != ~0u)
        return "expected a bijection of lanes" + at(warp, 0, reg);
    }
  }
  files = std::move(moved);
  return "";
}

std::string LayoutExecutor::touch(uint64_t offset, int64_t &value, bool load) {
  if (offset >= memory.size())
    return "offset out of range";
  if (load) {
    value = memory[offset];
    return value == kNothing ? "read before it was written" : "";
  }
  if (memory[offset] != kNothing && memory[offset] != value)
    return "two elements in one place";
  memory[offset] = value;
  return "";
}

std::string LayoutExecutor::access(const SharedAccess &access, bool load) {
  uint32_t registers = access.offsets.getInSize(kRegister);
  if (load)
    files.assign(files.size(), std::vector<int64_t>(registers, kNothing));
  else if (files.front().size() != registers)
    return "expected a store of every register";
  if (load && (access.idleLanes || access.idleWarps))
    return "expected all threads to load";
  return access.kind == SharedAccessKind::Vector ? accessVectors(access, load)
                                                 : accessMatrices(access, load);
}

std::string LayoutExecutor::accessVectors(const SharedAccess &access,
                                          bool load) {
  uint32_t vector = 1u << access.vectorBits;
  if (vector * access.elementBytes > 16)
    return "expected at most 16 bytes";
  for (uint32_t warp = 0; warp < warps; ++warp) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      if ((lane & access.idleLanes) || (warp & access.idleWarps))
        continue;
      std::vector<int64_t> &file = files[32 * warp + lane];
      for (uint32_t first = 0; first < file.size(); first += vector) {
        uint32_t start = access.offsets.apply({first, lane, warp})[0];
        if (start % vector != 0)
          return "expected an aligned vector" + at(warp, lane, first);
        for (uint32_t i = 0; i < vector; ++i) {
          std::string problem = touch(start + i, file[first + i], load);
          if (!problem.empty())
            return problem + at(warp, lane, first + i);
        }
      }
    }
  }
  return "";
}

std::string LayoutExecutor::accessMatrices(const SharedAccess &access,
                                           bool load) {
  if (access.elementBytes != 2 || access.idleLanes)
    return "expected 16-bit elements and all lanes";
  LinearLayout rows = getMatrixRows(access);
  bool transposed = access.kind == SharedAccessKind::MatrixTransposed;
  for (uint32_t warp = 0; warp < warps; ++warp) {
    if (warp & access.idleWarps)
      continue;
    for (uint32_t matrix = 0; matrix < rows.getInSize("matrix"); ++matrix) {
      for (uint32_t lane = 0; lane < 32; ++lane) {
        for (uint32_t half = 0; half < 2; ++half) {
          uint32_t row = lane / 4, column = 2 * (lane % 4) + half;
          if (transposed)
            std::swap(row, column);
          uint32_t start = rows.apply({matrix, row, warp})[0];
          if (start % 8 != 0)
            return "expected an aligned row" + at(warp, lane, 2 * matrix);
          std::string problem = touch(
              start + column, files[32 * warp + lane][2 * matrix + half], load);
          if (!problem.empty())
            return problem + at(warp, lane, 2 * matrix + half);
        }
      }
    }
  }
  return "";
}

} // namespace mamba
