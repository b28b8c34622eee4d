//===- FuseConsumer.cpp - Computes blocks in the loop that they read ------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The consumer's block that reads the tile of an iteration becomes a part of
// that iteration. What it writes becomes a further result of the producer: a
// slice that the loop carries, with a tile inserted in each iteration.
//
//===----------------------------------------------------------------------===//

#include "FuseBlocks.h"

#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mamba;

namespace {

class ConsumerFusion {
public:
  ConsumerFusion(RewriterBase &rewriter, scf::ForallOp consumer,
                 const SliceRead &read, const Insertion &insertion)
      : rewriter(rewriter), consumer(consumer), producer(insertion.block),
        read(read), insertion(insertion) {}

  std::string check();
  void run();

private:
  /// What a block of the consumer writes of a result, as what the loop writes.
  struct Output {
    tensor::ParallelInsertSliceOp parallel;
    /// Dimensions along which iterations write one tile after the other.
    llvm::SmallBitVector perIteration;
    /// What the loop carries.
    SmallVector<OpFoldResult> offsets, sizes;
  };

  bool variesInLoop(OpFoldResult value);
  bool canCompute(OpFoldResult value);
  std::string matchVariables();
  std::string checkReads();
  std::string checkOutputs();
  OpFoldResult compute(OpFoldResult value);
  scf::ForOp createLoop(scf::ForallOp fused, ArrayRef<Value> outs);
  void cloneOnce(Operation *op, DenseSet<Operation *> &cloned);
  void cloneConsumer();
  void cloneIteration(scf::ForOp loop);

  RewriterBase &rewriter;
  scf::ForallOp consumer, producer;
  const SliceRead &read;
  Insertion insertion;
  /// Whether the tiles that are read stay a result.
  bool keepsTiles = false;
  /// The producer's variable for each of the consumer's; null if that is
  /// always the first number.
  llvm::MapVector<Value, Value> variables;
  SmallVector<Output> outputs;
  /// From the producer to the fused loop; from the consumer.
  IRMapping producerMap, consumerMap;
};

} // namespace

/// Whether an iteration of the loop decides `value` of the consumer's block.
bool ConsumerFusion::variesInLoop(OpFoldResult number) {
  auto value = dyn_cast<Value>(number);
  if (!value || !consumer->isAncestor(value.getParentRegion()->getParentOp()))
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value own = variables.lookup(argument);
    return argument.getOwner() != consumer.getBody() ||
           (own && own == insertion.loop.getInductionVar());
  }
  return llvm::any_of(value.getDefiningOp()->getOperands(),
                      [&](Value operand) { return variesInLoop(operand); });
}

/// Whether `value` is plain arithmetic on variables and what is outside.
bool ConsumerFusion::canCompute(OpFoldResult number) {
  auto value = dyn_cast<Value>(number);
  if (!value || !consumer->isAncestor(value.getParentRegion()->getParentOp()))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return variables.contains(value);
  return op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return canCompute(operand); });
}

OpFoldResult ConsumerFusion::compute(OpFoldResult number) {
  auto value = dyn_cast<Value>(number);
  if (!value || !consumer->isAncestor(value.getParentRegion()->getParentOp()))
    return number;
  if (Value known = consumerMap.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    (void)compute(operand);
  rewriter.clone(*op, consumerMap);
  return consumerMap.lookup(value);
}

/// Every block of the consumer has to be one iteration of one block.
std::string ConsumerFusion::matchVariables() {
  TileMatch match(insertion);
  if (failed(match.match(read)) || !match.isWhole())
    return "a slice that one iteration of the loop it reads from inserts, over "
           "the same ranges";
  for (auto [variable, value] : match.getValues()) {
    auto argument = dyn_cast_if_present<BlockArgument>(dyn_cast<Value>(value));
    if (argument && argument.getOwner() == consumer.getBody() &&
        !variables.contains(argument))
      variables[argument] = variable;
  }
  for (const Variable &own : getVariables(consumer)) {
    if (own.isSingle()) {
      variables.try_emplace(own.value, Value());
      continue;
    }
    if (!variables.contains(own.value))
      return "its read to depend on all of its loops";
  }
  // And every iteration has to be a block, else some would write more often.
  for (const Variable &own : insertion.getVariables()) {
    auto mapped = llvm::find_if(
        variables, [&](auto pair) { return pair.second == own.value; });
    if (own.isSingle() && mapped == variables.end())
      continue;
    if (mapped == variables.end())
      return "a loop for each one of the loop it reads from";
    for (const Variable &other : getVariables(consumer))
      if (other.value == mapped->first && !haveSameRange(own, other))
        return "loops over the same ranges as the loop it reads from";
  }
  return "";
}

std::string ConsumerFusion::checkReads() {
  Block *block = producer->getBlock();
  if (consumer->getBlock() != block)
    return "to stand in one block with the loop it reads from";
  for (OpResult result : producer.getResults())
    for (OpOperand &use : result.getUses()) {
      Operation *user = use.getOwner();
      if (user == read.op)
        continue;
      if (consumer->isAncestor(user))
        return "to read one slice of what the loop it reads from writes, and "
               "nothing else of it";
      Operation *top = block->findAncestorOpInBlock(*user);
      if (!top || top->isBeforeInBlock(consumer))
        return "no other reader before it of the loop it reads from";
      keepsTiles |= result.getResultNumber() == insertion.result;
    }
  if (read.op->getResult(0).getType() != insertion.tile.getType())
    return "a slice of the type of the tile that is inserted";
  if (read.op->getBlock() != consumer.getBody())
    return "its read outside of loops";
  return "";
}

std::string ConsumerFusion::checkOutputs() {
  for (OpResult result : consumer.getResults()) {
    BlockArgument argument =
        consumer.getTiedBlockArgument(consumer.getTiedOpOperand(result));
    auto parallel =
        argument.hasOneUse()
            ? dyn_cast<tensor::ParallelInsertSliceOp>(*argument.user_begin())
            : tensor::ParallelInsertSliceOp();
    if (!parallel || parallel.getDest() != argument ||
        !parallel.hasUnitStride())
      return "results of which each block inserts one tile";
    Output output{parallel, llvm::SmallBitVector(), {}, {}};
    unsigned rank = cast<RankedTensorType>(argument.getType()).getRank();
    output.perIteration.resize(rank);
    for (unsigned dim = 0; dim < rank; ++dim) {
      OpFoldResult offset = parallel.getMixedOffsets()[dim],
                   size = parallel.getMixedSizes()[dim];
      if (!canCompute(offset) || !canCompute(size))
        return "tiles at places that follow from its loops";
      if (!variesInLoop(offset)) {
        if (variesInLoop(size))
          return "tiles of the same size in each iteration";
        continue;
      }
      // Blocks then differ in other dimensions.
      for (auto [variable, own] : variables)
        if (own && own != insertion.loop.getInductionVar()) {
          SetVector<Value> seen;
          SmallVector<Value> worklist{cast<Value>(offset)};
          while (!worklist.empty()) {
            Value value = worklist.pop_back_val();
            if (value == variable)
              return "tiles whose place along a dimension follows from the "
                     "iteration only";
            if (Operation *op = value.getDefiningOp();
                op && consumer->isAncestor(op) && seen.insert(value))
              llvm::append_range(worklist, op->getOperands());
          }
        }
      output.perIteration.set(dim);
    }
    outputs.push_back(std::move(output));
  }
  return "";
}

std::string ConsumerFusion::check() {
  if (std::string reason = matchVariables(); !reason.empty())
    return reason;
  if (std::string reason = checkReads(); !reason.empty())
    return reason;
  return checkOutputs();
}

/// Clones `op` of the consumer's block, after what it needs.
void ConsumerFusion::cloneOnce(Operation *op, DenseSet<Operation *> &cloned) {
  if (op == read.op || !cloned.insert(op).second)
    return;
  SetVector<Value> needed;
  getUsedValuesDefinedAbove(op->getRegions(), needed);
  needed.insert(op->operand_begin(), op->operand_end());
  for (Value value : needed)
    if (Operation *definition = value.getDefiningOp();
        definition && definition->getBlock() == consumer.getBody())
      cloneOnce(definition, cloned);
  rewriter.clone(*op, consumerMap);
}

/// The consumer's block, once the tile is known and first what reads it, so
/// that it need not stay.
void ConsumerFusion::cloneConsumer() {
  Value tile = read.op->getResult(0);
  consumerMap.map(tile, producerMap.lookupOrDefault(insertion.tile));
  DenseSet<Operation *> cloned;
  Block *body = consumer.getBody();
  for (Operation &op : body->without_terminator())
    if (llvm::any_of(tile.getUsers(), [&](Operation *user) {
          return body->findAncestorOpInBlock(*user) == &op;
        }))
      cloneOnce(&op, cloned);
  for (Operation &op : body->without_terminator())
    cloneOnce(&op, cloned);
}

void ConsumerFusion::cloneIteration(scf::ForOp loop) {
  scf::ForOp old = insertion.loop;
  Operation *last = insertion.tile.getDefiningOp();
  if (last)
    last = old.getBody()->findAncestorOpInBlock(*last);
  if (!last)
    cloneConsumer();
  for (Operation &op : old.getBody()->without_terminator()) {
    if (keepsTiles || &op != insertion.insert)
      rewriter.clone(op, producerMap);
    if (&op == last)
      cloneConsumer();
  }
  SmallVector<Value> yielded;
  for (auto [number, value] : llvm::enumerate(old.getYieldedValues()))
    if (keepsTiles || number != insertion.carried)
      yielded.push_back(producerMap.lookupOrDefault(value));

  auto carried = loop.getRegionIterArgs().take_back(outputs.size());
  for (auto [output, argument] : llvm::zip_equal(outputs, carried)) {
    SmallVector<OpFoldResult> offsets, sizes(output.sizes);
    for (unsigned dim = 0; dim < output.sizes.size(); ++dim) {
      offsets.push_back(rewriter.getIndexAttr(0));
      if (!output.perIteration.test(dim))
        continue;
      offsets.back() = compute(output.parallel.getMixedOffsets()[dim]);
      sizes[dim] = compute(output.parallel.getMixedSizes()[dim]);
    }
    yielded.push_back(tensor::InsertSliceOp::create(
        rewriter, output.parallel.getLoc(),
        consumerMap.lookupOrDefault(output.parallel.getSource()), argument,
        offsets, sizes,
        SmallVector<OpFoldResult>(sizes.size(), rewriter.getIndexAttr(1))));
  }
  scf::YieldOp::create(rewriter, old.getLoc(), yielded);
}

scf::ForOp ConsumerFusion::createLoop(scf::ForallOp fused,
                                      ArrayRef<Value> outs) {
  scf::ForOp old = insertion.loop;
  SmallVector<Value> inits;
  for (auto [number, init] : llvm::enumerate(old.getInits()))
    if (keepsTiles || number != insertion.carried)
      inits.push_back(producerMap.lookupOrDefault(init));
  for (auto [variable, own] : variables)
    if (own && own != old.getInductionVar())
      consumerMap.map(variable, producerMap.lookup(own));
  for (const Variable &own : getVariables(consumer))
    if (!variables.lookup(own.value))
      consumerMap.map(own.value, getValueOrCreateConstantIndexOp(
                                     rewriter, consumer.getLoc(), own.first));
  for (auto [output, out] : llvm::zip_equal(outputs, outs)) {
    Location loc = output.parallel.getLoc();
    for (unsigned dim = 0; dim < output.perIteration.size(); ++dim) {
      if (output.perIteration.test(dim)) {
        output.offsets.push_back(rewriter.getIndexAttr(0));
        Value whole = fused.getTiedOpOperand(cast<BlockArgument>(out))->get();
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPoint(fused);
        output.sizes.push_back(tensor::getMixedSize(rewriter, loc, whole, dim));
      } else {
        output.offsets.push_back(
            compute(output.parallel.getMixedOffsets()[dim]));
        output.sizes.push_back(compute(output.parallel.getMixedSizes()[dim]));
      }
    }
    inits.push_back(tensor::ExtractSliceOp::create(
        rewriter, loc, out, output.offsets, output.sizes,
        SmallVector<OpFoldResult>(output.sizes.size(),
                                  rewriter.getIndexAttr(1))));
  }
  auto loop = scf::ForOp::create(
      rewriter, old.getLoc(), producerMap.lookupOrDefault(old.getLowerBound()),
      producerMap.lookupOrDefault(old.getUpperBound()),
      producerMap.lookupOrDefault(old.getStep()), inits,
      /*bodyBuilder=*/nullptr, old.getUnsignedCmp());
  loop->setDiscardableAttrs(old->getDiscardableAttrDictionary());
  producerMap.map(old.getInductionVar(), loop.getInductionVar());
  for (auto [variable, own] : variables)
    if (own == old.getInductionVar())
      consumerMap.map(variable, loop.getInductionVar());
  unsigned next = 0;
  for (unsigned number = 0; number < old.getNumResults(); ++number) {
    if (!keepsTiles && number == insertion.carried)
      continue;
    producerMap.map(old.getRegionIterArg(number), loop.getRegionIterArg(next));
    producerMap.map(old.getResult(number), loop.getResult(next));
    ++next;
  }
  OpBuilder::InsertionGuard guard(rewriter);
  if (!loop.getBody()->empty())
    rewriter.eraseOp(loop.getBody()->getTerminator());
  rewriter.setInsertionPointToEnd(loop.getBody());
  cloneIteration(loop);
  return loop;
}

void ConsumerFusion::run() {
  Location loc = consumer.getLoc();
  rewriter.setInsertionPoint(consumer);
  SmallVector<Value> outs;
  for (auto [number, out] : llvm::enumerate(producer.getOutputs()))
    if (keepsTiles || number != insertion.result)
      outs.push_back(out);
  size_t kept = outs.size();
  llvm::append_range(outs, consumer.getOutputs());
  auto fused = scf::ForallOp::create(
      rewriter, loc, producer.getMixedLowerBound(),
      producer.getMixedUpperBound(), producer.getMixedStep(), outs,
      producer.getMapping());
  fused->setDiscardableAttrs(producer->getDiscardableAttrDictionary());
  auto name = [](scf::ForallOp loop) {
    auto attr = loop->getAttrOfType<StringAttr>(kKernelAttrName);
    return attr ? attr.getValue() : StringRef("kernel");
  };
  fused->setAttr(kKernelAttrName,
                 rewriter.getStringAttr(name(producer) + "_" + name(consumer)));
  for (auto [from, to] :
       llvm::zip_equal(producer.getInductionVars(), fused.getInductionVars()))
    producerMap.map(from, to);
  SmallVector<Value> arguments(fused.getRegionIterArgs());
  unsigned next = 0;
  for (auto [number, argument] : llvm::enumerate(producer.getRegionIterArgs()))
    if (keepsTiles || number != insertion.result)
      producerMap.map(argument, arguments[next++]);

  scf::InParallelOp terminator = fused.getTerminator();
  rewriter.setInsertionPoint(terminator);
  scf::ForOp loop;
  for (Operation &op : producer.getBody()->without_terminator()) {
    if (&op == insertion.loop)
      loop = createLoop(fused, ArrayRef(arguments).drop_front(kept));
    else
      rewriter.clone(op, producerMap);
  }
  rewriter.setInsertionPointToEnd(terminator.getBody());
  for (Operation &op : producer.getTerminator().getYieldingOps())
    if (keepsTiles || &op != insertion.parallel)
      rewriter.clone(op, producerMap);
  for (auto [output, argument, result] :
       llvm::zip_equal(outputs, ArrayRef(arguments).drop_front(kept),
                       loop.getResults().take_back(outputs.size())))
    tensor::ParallelInsertSliceOp::create(
        rewriter, loc, result, argument, output.offsets, output.sizes,
        SmallVector<OpFoldResult>(output.sizes.size(),
                                  rewriter.getIndexAttr(1)));

  rewriter.replaceOp(consumer, fused.getResults().take_back(outputs.size()));
  next = 0;
  for (OpResult result : producer.getResults())
    if (keepsTiles || result.getResultNumber() != insertion.result)
      rewriter.replaceAllUsesWith(result, fused.getResult(next++));
  rewriter.eraseOp(producer);
}

std::string mamba::fuseConsumer(RewriterBase &rewriter, scf::ForallOp consumer,
                                const SliceRead &read,
                                const Insertion &insertion) {
  ConsumerFusion fusion(rewriter, consumer, read, insertion);
  std::string reason = fusion.check();
  if (reason.empty())
    fusion.run();
  return reason;
}
