//===- OutlineKernels.cpp - Loops over blocks to kernels ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One loop at a time: `Captures` finds what it uses from outside and how each
// of it reaches the kernel; then the kernel and the launch are written.
//
//===----------------------------------------------------------------------===//

#include "Captures.h"

#include "mamba/Conversion/Passes.h"
#include "mamba/Dialect/Mamba/IR/BlockLoops.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/IR/Pitches.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mamba {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "mamba/Conversion/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using mamba::Captures;

namespace {

constexpr int64_t kThreadsPerWarp = 32;
constexpr int64_t kDefaultWarps = 4;

bool isOne(OpFoldResult value) { return isConstantIntValue(value, 1); }

/// One dimension of a loop over blocks.
struct Dim {
  Value iv;
  OpFoldResult lower, step, trips;
};

/// Outlines the loops of one function.
class Outliner {
public:
  explicit Outliner(func::FuncOp function) : function(function) {}

  LogicalResult run();

private:
  LogicalResult outline(scf::ForallOp loop);
  FailureOr<SmallVector<Dim>> findDims(scf::ForallOp loop, OpBuilder &builder);
  static int64_t getThreads(scf::ForallOp loop);
  gpu::GPUModuleOp getModule();
  gpu::GPUFuncOp createKernel(scf::ForallOp loop, Captures &captures,
                              int64_t threads);
  void fillKernel(gpu::GPUFuncOp kernel, scf::ForallOp loop, Captures &captures,
                  ArrayRef<Dim> dims);

  func::FuncOp function;
  gpu::GPUModuleOp module;
};

gpu::GPUModuleOp Outliner::getModule() {
  if (module)
    return module;
  auto top = function->getParentOfType<ModuleOp>();
  std::string base = (function.getName() + "_kernels").str(), name = base;
  for (int suffix = 1; top.lookupSymbol(name); ++suffix)
    name = base + "_" + std::to_string(suffix);
  OpBuilder builder(function->getContext());
  builder.setInsertionPointAfter(function);
  module = gpu::GPUModuleOp::create(builder, function.getLoc(), name);
  return module;
}

int64_t Outliner::getThreads(scf::ForallOp loop) {
  int64_t warps = kDefaultWarps;
  if (auto plan = loop->getAttrOfType<mamba::PlanAttr>(mamba::kPlanAttrName))
    warps = plan.getWarps();
  return warps * kThreadsPerWarp;
}

/// The dimensions of `loop`, the fastest first; trip counts are computed at
/// `builder`.
FailureOr<SmallVector<Dim>> Outliner::findDims(scf::ForallOp loop,
                                               OpBuilder &builder) {
  SmallVector<std::pair<int64_t, Dim>> dims;
  llvm::SmallDenseSet<int64_t> ids;
  for (auto [attr, iv, lower, upper, step] :
       llvm::zip_equal(loop.getDeviceMappingAttrs(), loop.getInductionVars(),
                       loop.getMixedLowerBound(), loop.getMixedUpperBound(),
                       loop.getMixedStep())) {
    auto block = dyn_cast<gpu::GPUBlockMappingAttr>(attr);
    if (!block || !ids.insert(block.getMappingId()).second)
      return loop.emitOpError("expected every dimension mapped to a different "
                              "#gpu.block, got ")
             << attr;
    OpFoldResult trips = upper;
    Location loc = loop.getLoc();
    auto toValue = [&](OpFoldResult value) {
      return getValueOrCreateConstantIndexOp(builder, loc, value);
    };
    if (!isConstantIntValue(lower, 0))
      trips = builder.createOrFold<arith::SubIOp>(loc, toValue(trips),
                                                  toValue(lower));
    if (!isOne(step))
      trips = builder.createOrFold<arith::CeilDivSIOp>(loc, toValue(trips),
                                                       toValue(step));
    dims.push_back({block.getMappingId(),
                    {iv, lower, step, getAsOpFoldResult(toValue(trips))}});
  }
  llvm::sort(dims, llvm::less_first());
  return llvm::to_vector(llvm::make_second_range(dims));
}

gpu::GPUFuncOp Outliner::createKernel(scf::ForallOp loop, Captures &captures,
                                      int64_t threads) {
  std::string base = function.getName().str() + "_";
  auto kernelName = loop->getAttrOfType<StringAttr>(mamba::kKernelAttrName);
  base += kernelName ? kernelName.str() : "kernel";
  std::string name = base;
  gpu::GPUModuleOp parent = getModule();
  for (int suffix = 1; parent.lookupSymbol(name); ++suffix)
    name = base + "_" + std::to_string(suffix);

  SmallVector<Type> types;
  for (Value buffer : captures.getBuffers()) {
    auto type = cast<MemRefType>(buffer.getType());
    types.push_back(MemRefType::get({}, type.getElementType(),
                                    MemRefLayoutAttrInterface(),
                                    type.getMemorySpace()));
  }
  OpBuilder builder = OpBuilder::atBlockEnd(parent.getBody());
  types.append(captures.getIndices().size(), builder.getIndexType());
  auto kernel =
      gpu::GPUFuncOp::create(builder, loop.getLoc(), name,
                             builder.getFunctionType(types, TypeRange()));
  for (NamedAttribute attr : loop->getDiscardableAttrs())
    kernel->setDiscardableAttr(attr.getName(), attr.getValue());
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel.setKnownBlockSize(
      ArrayRef<int32_t>{static_cast<int32_t>(threads), 1, 1});
  for (auto [position, buffer] : llvm::enumerate(captures.getBuffers()))
    if (auto arg = dyn_cast<BlockArgument>(buffer))
      if (Attribute argName =
              function.getArgAttr(arg.getArgNumber(), mamba::kNameAttrName))
        kernel.setArgAttr(position, mamba::kNameAttrName, argName);
  return kernel;
}

/// The buffer behind base pointer `param`: row-major in its sizes, but for the
/// leading strides, which are given.
static Value rebuildBuffer(OpBuilder &builder, Location loc, Value param,
                           MemRefType type, ArrayRef<OpFoldResult> sizes,
                           ArrayRef<Value> pitches) {
  if (type.getRank() == 0)
    return param;
  SmallVector<int64_t> known = type.getStridesAndOffset().first;
  SmallVector<OpFoldResult> strides(type.getRank());
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    if (!ShapedType::isDynamic(known[dim])) {
      strides[dim] = builder.getIndexAttr(known[dim]);
      continue;
    }
    if (dim < static_cast<int64_t>(pitches.size())) {
      strides[dim] = pitches[dim];
      continue;
    }
    auto toValue = [&](OpFoldResult value) {
      return getValueOrCreateConstantIndexOp(builder, loc, value);
    };
    strides[dim] = builder.createOrFold<arith::MulIOp>(
        loc, toValue(sizes[dim + 1]), toValue(strides[dim + 1]));
  }
  return memref::ReinterpretCastOp::create(
      builder, loc, type, param, builder.getIndexAttr(0), sizes, strides);
}

/// Maps the induction variables to parts of the block id.
static void mapBlockId(OpBuilder &builder, Location loc, ArrayRef<Dim> dims,
                       llvm::function_ref<OpFoldResult(OpFoldResult)> inKernel,
                       IRMapping &mapping) {
  auto toValue = [&](OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(builder, loc, inKernel(value));
  };
  // Dimensions with one trip take no part in the division, and neither does
  // the last of the others.
  const Dim *slowest = nullptr;
  for (const Dim &dim : dims)
    if (!isOne(dim.trips))
      slowest = &dim;
  Value rest = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  for (const Dim &dim : dims) {
    Value position = rest;
    if (isOne(dim.trips)) {
      position = arith::ConstantIndexOp::create(builder, loc, 0);
    } else if (&dim != slowest) {
      Value trips = toValue(dim.trips);
      position = arith::RemUIOp::create(builder, loc, rest, trips);
      rest = arith::DivUIOp::create(builder, loc, rest, trips);
    }
    if (!isOne(dim.step))
      position =
          builder.createOrFold<arith::MulIOp>(loc, position, toValue(dim.step));
    if (!isConstantIntValue(dim.lower, 0))
      position = builder.createOrFold<arith::AddIOp>(loc, position,
                                                     toValue(dim.lower));
    mapping.map(dim.iv, position);
  }
}

void Outliner::fillKernel(gpu::GPUFuncOp kernel, scf::ForallOp loop,
                          Captures &captures, ArrayRef<Dim> dims) {
  Location loc = loop.getLoc();
  Block &entry = kernel.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  ArrayRef<BlockArgument> params = entry.getArguments();
  ArrayRef<Value> buffers = captures.getBuffers();
  ArrayRef<BlockArgument> indexParams = params.drop_front(buffers.size());

  IRMapping mapping;
  for (Value value : captures.getIndexValues())
    mapping.map(value, indexParams[*captures.findIndex(value)]);
  auto inKernel = [&](OpFoldResult value) -> OpFoldResult {
    if (std::optional<int64_t> constant = getConstantIntValue(value))
      return builder.getIndexAttr(*constant);
    return mapping.lookup(cast<Value>(value));
  };

  for (auto [buffer, param] :
       llvm::zip_equal(buffers, params.take_front(buffers.size()))) {
    auto type = cast<MemRefType>(buffer.getType());
    SmallVector<OpFoldResult> sizes;
    for (int64_t dim : llvm::seq(type.getRank()))
      sizes.push_back(
          type.isDynamicDim(dim)
              ? inKernel(captures.sizeOf(buffer, dim))
              : OpFoldResult(builder.getIndexAttr(type.getDimSize(dim))));
    SmallVector<Value> pitches;
    if (!type.getLayout().isIdentity())
      for (int64_t dim : llvm::seq(*mamba::getNumPitches(type))) {
        auto [stride, unit] = captures.strideOf(buffer, dim);
        pitches.push_back(builder.createOrFold<arith::MulIOp>(
            loc, mapping.lookup(stride),
            arith::ConstantIndexOp::create(builder, loc, unit)));
      }
    mapping.map(buffer,
                rebuildBuffer(builder, loc, param, type, sizes, pitches));
  }
  for (Operation *op : captures.getRecomputed())
    builder.clone(*op, mapping);
  mapBlockId(builder, loc, dims, inKernel, mapping);
  for (Operation &op : loop.getBody()->without_terminator())
    builder.clone(op, mapping);
  gpu::ReturnOp::create(builder, loc);
}

LogicalResult Outliner::outline(scf::ForallOp loop) {
  if (loop.getNumResults() != 0)
    return loop.emitOpError("expected a loop over blocks on buffers, without "
                            "results");
  OpBuilder builder(loop);
  FailureOr<SmallVector<Dim>> dims = findDims(loop, builder);
  if (failed(dims))
    return failure();

  Captures captures(function, loop);
  if (failed(captures.collect()))
    return failure();
  for (const Dim &dim : *dims) {
    captures.addIndex(dim.lower);
    captures.addIndex(dim.step);
    // The block id is not divided by the last trip count.
    if (&dim != &dims->back())
      captures.addIndex(dim.trips);
  }
  captures.addSizes();

  int64_t threads = getThreads(loop);
  gpu::GPUFuncOp kernel = createKernel(loop, captures, threads);
  fillKernel(kernel, loop, captures, *dims);

  Location loc = loop.getLoc();
  auto toValue = [&](OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(builder, loc, value);
  };
  SmallVector<Value> operands;
  for (auto [buffer, type] :
       llvm::zip(captures.getBuffers(), kernel.getArgumentTypes())) {
    if (buffer.getType() == type)
      operands.push_back(buffer);
    else
      operands.push_back(memref::ReinterpretCastOp::create(
          builder, loc, cast<MemRefType>(type), buffer, builder.getIndexAttr(0),
          ArrayRef<OpFoldResult>(), ArrayRef<OpFoldResult>()));
  }
  llvm::append_range(operands, captures.getIndices());
  Value one = toValue(builder.getIndexAttr(1)), blocks = one;
  for (const Dim &dim : llvm::reverse(*dims))
    blocks =
        builder.createOrFold<arith::MulIOp>(loc, blocks, toValue(dim.trips));
  gpu::LaunchFuncOp::create(
      builder, loc, kernel, gpu::KernelDim3{blocks, one, one},
      gpu::KernelDim3{toValue(builder.getIndexAttr(threads)), one, one},
      /*dynamicSharedMemorySize=*/Value(), operands);
  loop.erase();
  return success();
}

LogicalResult Outliner::run() {
  SmallVector<scf::ForallOp> loops;
  WalkResult result =
      function.walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
        if (!mamba::isMappedToBlocks(loop))
          return WalkResult::advance();
        if (loop->getParentOp() != function) {
          loop.emitOpError("expected a loop over blocks directly in the body "
                           "of the function");
          return WalkResult::interrupt();
        }
        loops.push_back(loop);
        return WalkResult::advance();
      });
  if (result.wasInterrupted())
    return failure();
  for (scf::ForallOp loop : loops)
    if (failed(outline(loop)))
      return failure();
  return success();
}

struct OutlineKernels final
    : mamba::impl::OutlineKernelsPassBase<OutlineKernels> {
  void runOnOperation() override {
    ModuleOp top = getOperation();
    for (auto function : llvm::to_vector(top.getOps<func::FuncOp>())) {
      if (function.isExternal())
        continue;
      if (failed(Outliner(function).run()))
        return signalPassFailure();
    }
    if (!top.getOps<gpu::GPUModuleOp>().empty())
      top->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                   UnitAttr::get(&getContext()));
  }
};

} // namespace
