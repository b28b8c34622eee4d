//===- Lists.cpp - Tables of models and targets ---------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lists.h"

#include "mamba/Models/Models.h"
#include "mamba/Target/Targets.h"

#include "llvm/ADT/StringExtras.h"

#include <string>
#include <vector>

using namespace llvm;

namespace mamba {

using Row = std::vector<std::string>;

/// Left-aligned columns, two spaces apart.
static void printTable(const std::vector<Row> &rows, raw_ostream &os) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const Row &row : rows)
    for (auto [column, cell] : llvm::enumerate(row))
      widths[column] = std::max(widths[column], cell.size());
  for (const Row &row : rows) {
    std::string line;
    for (auto [column, cell] : llvm::enumerate(row)) {
      line += cell;
      line.append(widths[column] - cell.size() + 2, ' ');
    }
    os << StringRef(line).rtrim() << "\n";
  }
}

static std::string formatLimits(const ModelConfig &model) {
  if (model.hasDefaultDtLimit())
    return "-";
  std::string text;
  raw_string_ostream(text) << format("%g,%g", model.dtLimitLow,
                                     model.dtLimitHigh);
  return text;
}

void printModels(raw_ostream &os) {
  std::vector<Row> rows = {{"name", "heads", "head-dim", "state-dim", "groups",
                            "chunk-size", "dtype", "state-dtype", "z",
                            "dt-limit", "also called"}};
  for (const ModelConfig &model : getModels())
    rows.push_back(
        {model.name, std::to_string(model.heads), std::to_string(model.headDim),
         std::to_string(model.stateDim), std::to_string(model.groups),
         std::to_string(model.chunkSize), model.dtype, model.stateDtype,
         model.zGate == ZGate::Scan ? "yes" : "no", formatLimits(model),
         llvm::join(model.aliases, ", ")});
  printTable(rows, os);
}

void printTargets(raw_ostream &os) {
  std::vector<Row> rows = {{"name", "emits", "shared memory of a block"}};
  for (const Target &target : getTargets())
    rows.push_back(
        {target.name.str(),
         target.isGpu() ? "llvm, ptx, bundle" : "llvm, obj, bundle, --run",
         target.isGpu() ? std::to_string(target.limits.sharedBytesPerBlock)
                        : "-"});
  printTable(rows, os);
}

} // namespace mamba
