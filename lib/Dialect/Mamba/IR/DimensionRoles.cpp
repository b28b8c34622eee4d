//===- DimensionRoles.cpp - What each dimension of an operand is ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/DimensionRoles.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mamba;

llvm::StringRef mamba::stringify(Role role) {
  switch (role) {
  case Role::Batch:
    return "batch";
  case Role::Length:
    return "length";
  case Role::Heads:
    return "heads";
  case Role::HeadDim:
    return "head dim";
  case Role::Groups:
    return "groups";
  case Role::StateDim:
    return "state dim";
  case Role::Chunks:
    return "chunks";
  case Role::Chunk:
    return "chunk size";
  case Role::Slots:
    return "slots";
  case Role::Tokens:
    return "tokens";
  }
  llvm_unreachable("unknown role");
}

namespace {

using Roles = ArrayRef<Role>;
constexpr Role b = Role::Batch, L = Role::Length, H = Role::Heads,
               P = Role::HeadDim, G = Role::Groups, N = Role::StateDim,
               nc = Role::Chunks, Q = Role::Chunk, S = Role::Slots,
               T = Role::Tokens;
constexpr Role kTokens[] = {b, L, H, P};
constexpr Role kGroups[] = {b, L, G, N};
constexpr Role kSteps[] = {b, L, H};
constexpr Role kHeads[] = {H};
constexpr Role kSkip[] = {H, P};
constexpr Role kChunked[] = {b, H, nc, Q};
constexpr Role kState[] = {b, H, P, N};
constexpr Role kStates[] = {b, nc, H, P, N};
constexpr Role kTotal[] = {b, H};
constexpr Role kSeqIdx[] = {b, L};
constexpr Role kPrevSeqIdx[] = {b, nc};
constexpr Role kSlots[] = {S, H, P, N};
constexpr Role kOneToken[] = {b, H, P};
constexpr Role kOneGroup[] = {b, G, N};
constexpr Role kOneStep[] = {b, H};
constexpr Role kManyTokens[] = {b, T, H, P};
constexpr Role kManyGroups[] = {b, T, G, N};
constexpr Role kManySteps[] = {b, T, H};
constexpr Role kIntermediate[] = {b, T, H, P, N};
constexpr Role kRows[] = {b};

class Table {
public:
  Table &add(StringRef name, Value value, Roles roles) {
    if (!value)
      return *this;
    auto type = cast<RankedTensorType>(value.getType());
    // D has one or two dimensions; one token of ssu has no token dimension in
    // its intermediate states' tokens, which then has extent 1.
    size_t rank = type.getRank();
    values.push_back(
        {name, type, value,
         SmallVector<Role, 5>(roles.take_front(std::min(rank, roles.size())))});
    return *this;
  }
  SmallVector<ShapedValue> take() { return std::move(values); }

private:
  SmallVector<ShapedValue> values;
};

} // namespace

SmallVector<ShapedValue> mamba::getShapedValues(Operation *op) {
  Table table;
  llvm::TypeSwitch<Operation *>(op)
      .Case<ChunkCumsumOp>([&](ChunkCumsumOp op) {
        table.add("dt", op.getDt(), kSteps)
            .add("A", op.getA(), kHeads)
            .add("dt_bias", op.getDtBias(), kHeads)
            .add("dt_out", op.getDtOut(), kChunked)
            .add("dA_cumsum", op.getDACumsum(), kChunked);
      })
      .Case<ChunkStateOp>([&](ChunkStateOp op) {
        table.add("x", op.getX(), kTokens)
            .add("B", op.getB(), kGroups)
            .add("dt", op.getDt(), kChunked)
            .add("dA_cumsum", op.getDACumsum(), kChunked)
            .add("seq_idx", op.getSeqIdx(), kSeqIdx)
            .add("states", op.getStates(), kStates);
      })
      .Case<StatePassOp>([&](StatePassOp op) {
        table.add("states", op.getStates(), kStates)
            .add("dA_cumsum", op.getDACumsum(), kChunked)
            .add("initial_state", op.getInitialState(), kState)
            .add("seq_idx", op.getSeqIdx(), kSeqIdx)
            .add("chunk_states", op.getChunkStates(), kStates)
            .add("final_state", op.getFinalState(), kState)
            .add("total_decay", op.getTotalDecay(), kTotal);
      })
      .Case<ChunkOutOp>([&](ChunkOutOp op) {
        table.add("x", op.getX(), kTokens)
            .add("B", op.getB(), kGroups)
            .add("C", op.getC(), kGroups)
            .add("dt", op.getDt(), kChunked)
            .add("dA_cumsum", op.getDACumsum(), kChunked)
            .add("chunk_states", op.getChunkStates(), kStates)
            .add("D", op.getD(), kSkip)
            .add("z", op.getZ(), kTokens)
            .add("seq_idx", op.getSeqIdx(), kSeqIdx)
            .add("prev_seq_idx", op.getPrevSeqIdx(), kPrevSeqIdx)
            .add("y", op.getY(), kTokens);
      })
      .Case<SsdOp>([&](SsdOp op) {
        table.add("x", op.getX(), kTokens)
            .add("dt", op.getDt(), kSteps)
            .add("A", op.getA(), kHeads)
            .add("B", op.getB(), kGroups)
            .add("C", op.getC(), kGroups)
            .add("D", op.getD(), kSkip)
            .add("z", op.getZ(), kTokens)
            .add("dt_bias", op.getDtBias(), kHeads)
            .add("initial_state", op.getInitialState(), kState)
            .add("seq_idx", op.getSeqIdx(), kSeqIdx)
            .add("y", op.getY(), kTokens)
            .add("chunk_states", op.getChunkStates(), kStates)
            .add("final_state", op.getFinalState(), kState)
            .add("total_decay", op.getTotalDecay(), kTotal);
      })
      .Case<SsuOp>([&](SsuOp op) {
        bool many = cast<RankedTensorType>(op.getX().getType()).getRank() == 4;
        Roles tokens = many ? Roles(kManyTokens) : Roles(kOneToken);
        Roles groups = many ? Roles(kManyGroups) : Roles(kOneGroup);
        Roles steps = many ? Roles(kManySteps) : Roles(kOneStep);
        // Without slot indices slot i is row i, but there may be more slots.
        table.add("state", op.getState(), kSlots)
            .add("x", op.getX(), tokens)
            .add("dt", op.getDt(), steps)
            .add("A", op.getA(), kHeads)
            .add("B", op.getB(), groups)
            .add("C", op.getC(), groups)
            .add("D", op.getD(), kSkip)
            .add("z", op.getZ(), tokens)
            .add("dt_bias", op.getDtBias(), kHeads)
            .add("state_batch_indices", op.getStateBatchIndices(), kRows)
            .add("dst_state_batch_indices", op.getDstStateBatchIndices(), kRows)
            .add("y", op.getY(), tokens)
            .add("new_state", op.getNewState(), kSlots)
            .add("intermediate_states", op.getIntermediateStates(),
                 kIntermediate);
      });
  return table.take();
}
