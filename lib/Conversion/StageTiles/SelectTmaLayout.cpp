//===- SelectTmaLayout.cpp - How tiles are copied -------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor map is part of the launch: it becomes a parameter of the kernel, and
// the code that launches describes it in its own sizes. Kernels whose launches
// are not in the module stay as they are.
//
//===----------------------------------------------------------------------===//

#include "TensorTiles.h"

#include "../KernelsToThreads/Buffers.h"
#include "mamba/Conversion/Passes.h"
#include "mamba/Conversion/StagedBuffers.h"
#include "mamba/Target/Targets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include "llvm/ADT/MapVector.h"

namespace mamba {
#define GEN_PASS_DEF_SELECTTMALAYOUTPASS
#include "mamba/Conversion/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

static constexpr int64_t kMbarrierBytes = 8;

namespace {

/// Chooses for the copies of one kernel.
class Selector {
public:
  Selector(gpu::GPUFuncOp kernel, ArrayRef<gpu::LaunchFuncOp> launches,
           int64_t maxSharedBytes)
      : kernel(kernel), launches(launches), maxSharedBytes(maxSharedBytes) {}

  /// Copies by tensor map, others, and maps.
  struct Counts {
    unsigned chosen = 0, refused = 0, maps = 0;
  };
  /// `remarks`: says of every tile that gets no map why.
  Counts run(bool remarks);

private:
  struct Map {
    TensorTile tile;
    Value parameter;
  };

  LogicalResult find(AsyncCopyOp copy, TensorTile &tile, std::string &reason);
  Value getParameter(const TensorTile &tile);
  void createMap(gpu::LaunchFuncOp launch, const TensorTile &tile);
  void replace(AsyncCopyOp copy, const TensorTile &tile);
  std::string getName(Value source);

  gpu::GPUFuncOp kernel;
  ArrayRef<gpu::LaunchFuncOp> launches;
  int64_t maxSharedBytes;
  SizeSums sums;
  std::vector<Map> maps;
};

} // namespace

LogicalResult Selector::find(AsyncCopyOp copy, TensorTile &tile,
                             std::string &reason) {
  // Every thread counts the phases of the copy's mbarrier.
  for (Operation *parent = copy->getParentOp(); parent != kernel;
       parent = parent->getParentOp())
    if (!isa<scf::ForOp>(parent)) {
      reason = "it is copied in '" + parent->getName().getStringRef().str() +
               "', not in a loop or the kernel itself";
      return failure();
    }
  return findTensorTile(copy, sums, tile, reason);
}

void Selector::createMap(gpu::LaunchFuncOp launch, const TensorTile &tile) {
  OpBuilder builder(launch);
  Location loc = launch.getLoc();
  IRMapping mapping;
  for (auto [argument, operand] :
       llvm::zip(kernel.getArguments(), launch.getKernelOperands()))
    mapping.map(argument, operand);
  SmallVector<Value> sizes, strides;
  for (const TensorTile::Dim &dim : tile.dims) {
    sizes.push_back(sums.create(builder, loc, dim.size, mapping));
    strides.push_back(sums.create(builder, loc, dim.stride, mapping));
  }
  Value start = arith::ConstantIndexOp::create(builder, loc, 0);
  Value map =
      TensorMapOp::create(builder, loc, tile.type, mapping.lookup(tile.base),
                          start, sizes, strides);
  launch.getKernelOperandsMutable().append(map);
}

Value Selector::getParameter(const TensorTile &tile) {
  for (const Map &map : maps)
    if (map.tile.hasMapOf(tile))
      return map.parameter;
  for (gpu::LaunchFuncOp launch : launches)
    createMap(launch, tile);
  unsigned number = kernel.getNumArguments();
  LogicalResult inserted = kernel.insertArgument(
      number, tile.type, DictionaryAttr(), tile.base.getLoc());
  assert(succeeded(inserted) && "expected a function that takes arguments");
  (void)inserted;
  maps.push_back({tile, kernel.getArgument(number)});
  return maps.back().parameter;
}

void Selector::replace(AsyncCopyOp copy, const TensorTile &tile) {
  Value map = getParameter(tile);
  OpBuilder builder(copy);
  Location loc = copy.getLoc();
  SmallVector<Value> coordinates;
  for (const TensorTile::Dim &dim : tile.dims) {
    Value sum;
    for (auto [position, factor] : dim.position) {
      if (isZeroInteger(position))
        continue;
      Value term = getValueOrCreateConstantIndexOp(builder, loc, position);
      if (factor != 1)
        term = builder.createOrFold<arith::MulIOp>(
            loc, term, arith::ConstantIndexOp::create(builder, loc, factor));
      sum = sum ? builder.createOrFold<arith::AddIOp>(loc, sum, term) : term;
    }
    if (!sum)
      sum = arith::ConstantIndexOp::create(builder, loc, 0);
    coordinates.push_back(sum);
  }
  TensorCopyOp::create(builder, loc, map, coordinates, copy.getDestination(),
                       /*barriers=*/Value(), /*barrier=*/Value());
  copy.erase();
}

/// The argument that `source` is part of, in words.
std::string Selector::getName(Value source) {
  auto argument = dyn_cast_or_null<BlockArgument>(findRoot(source));
  if (!argument)
    return "an unknown tensor";
  if (auto name = kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      kNameAttrName))
    return "'" + name.str() + "'";
  return "argument " + std::to_string(argument.getArgNumber());
}

Selector::Counts Selector::run(bool remarks) {
  Counts counts;
  SmallVector<AsyncCopyOp> copies;
  kernel.walk([&](AsyncCopyOp copy) { copies.push_back(copy); });
  // Each copy may need an mbarrier.
  bool hasRoom = getBufferBytes(kernel) +
                     kMbarrierBytes * static_cast<int64_t>(copies.size()) <=
                 maxSharedBytes;
  for (AsyncCopyOp copy : copies) {
    TensorTile tile;
    std::string reason = "no room for mbarriers in shared memory";
    if (hasRoom && succeeded(find(copy, tile, reason))) {
      replace(copy, tile);
      ++counts.chosen;
      continue;
    }
    if (remarks)
      copy.emitRemark("no tensor map for a tile of ")
          << getName(copy.getSource()) << ": " << reason;
    ++counts.refused;
  }
  counts.maps = maps.size();
  return counts;
}

namespace {

struct SelectTmaLayout final
    : mamba::impl::SelectTmaLayoutPassBase<SelectTmaLayout> {
  using SelectTmaLayoutPassBase::SelectTmaLayoutPassBase;

  void runOnOperation() override {
    // An unknown target is reported by the passes that generate code for it.
    llvm::Expected<const Target &> known = lookupGpuTarget(target);
    if (!known) {
      llvm::consumeError(known.takeError());
      return;
    }
    if (!known->hasTensorMaps())
      return;
    llvm::MapVector<Operation *, SmallVector<gpu::LaunchFuncOp>> launches;
    getOperation().walk([&](gpu::LaunchFuncOp launch) {
      Operation *kernel =
          SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernel());
      if (kernel)
        launches[kernel].push_back(launch);
    });
    for (auto &[op, ofKernel] : launches) {
      auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
      if (!kernel || !kernel->hasAttr(kVectorizedAttrName))
        continue;
      Selector::Counts counts =
          Selector(kernel, ofKernel, known->limits.sharedBytesPerBlock)
              .run(remarks);
      numCopies += counts.chosen;
      numRefused += counts.refused;
      numMaps += counts.maps;
    }
  }
};

} // namespace
