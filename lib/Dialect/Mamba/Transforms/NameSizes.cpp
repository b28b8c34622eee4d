//===- NameSizes.cpp - Names the dynamic sizes of a function --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/DimensionRoles.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"
#include "mamba/Target/AttributeNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBANAMESIZESPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

/// Classes of dimensions that must be equal, over one function.
class SizeClasses {
public:
  void add(Operation *op) {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      return addLoops(linalgOp);
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      return addSlice(slice);
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      return addExpansion(expand);
    llvm::DenseMap<unsigned, unsigned> byRole;
    int64_t chunk = 0;
    for (const ShapedValue &value : getShapedValues(op))
      for (auto [axis, role] : llvm::enumerate(value.roles)) {
        if (role == Role::Chunk)
          chunk = value.type.getDimSize(axis);
        unsigned id = getId(value.value, axis);
        auto [it, inserted] =
            byRole.try_emplace(static_cast<unsigned>(role), id);
        if (inserted)
          roles.try_emplace(id, role);
        else
          classes.unionSets(it->second, id);
      }
    if (auto attr = op->getAttrOfType<IntegerAttr>("chunk_size"))
      chunk = attr.getInt();
    auto at = [&](Role role) {
      auto it = byRole.find(static_cast<unsigned>(role));
      return it == byRole.end() ? std::nullopt
                                : std::optional<unsigned>(it->second);
    };
    if (at(Role::Chunks) && at(Role::Length) && chunk > 0)
      chunks.push_back({*at(Role::Chunks), *at(Role::Length), chunk});
    if (at(Role::Heads) && at(Role::Groups))
      groups.push_back({*at(Role::Heads), *at(Role::Groups)});
  }

  /// Names the class of a dynamic dimension of an argument.
  StringRef name(Value value, unsigned axis) {
    std::optional<unsigned> id = find(value, axis);
    if (!id)
      return "";
    unsigned leader = classes.getLeaderValue(*id);
    auto it = names.find(leader);
    if (it != names.end())
      return it->second;
    std::string role = getRole(leader);
    if (role.empty())
      role = "size";
    std::string unique = role;
    for (unsigned i = 1; !used.insert(unique).second; ++i)
      unique = role + "_" + std::to_string(i);
    return names.try_emplace(leader, unique).first->second;
  }

  /// The name or expression of a dimension of a result; "" if unknown.
  std::string describe(Value value, unsigned axis) {
    std::optional<unsigned> id = find(value, axis);
    if (!id)
      return "";
    if (std::string known = getKnown(*id); !known.empty())
      return known;
    for (auto [count, length, chunk] : chunks) {
      if (!classes.isEquivalent(count, *id))
        continue;
      std::string tokens = getKnown(length);
      if (!tokens.empty())
        return "ceildiv(" + tokens + ", " + std::to_string(chunk) + ")";
    }
    return "";
  }

  /// heads % groups of every operation, in names and numbers.
  SmallVector<std::string> getConstraints(
      llvm::function_ref<std::optional<int64_t>(unsigned)> staticSize) {
    SmallVector<std::string> result;
    for (auto [heads, group] : groups) {
      auto text = [&](unsigned id) {
        std::string known = getKnown(id);
        if (known.empty())
          if (std::optional<int64_t> size = staticSize(id))
            known = std::to_string(*size);
        return known;
      };
      std::string h = text(heads), g = text(group);
      bool isNumber =
          !h.empty() && !g.empty() && isdigit(h[0]) && isdigit(g[0]);
      if (h.empty() || g.empty() || g == "1" || isNumber)
        continue;
      std::string constraint = "mod(" + h + ", " + g + ") == 0";
      if (!llvm::is_contained(result, constraint))
        result.push_back(constraint);
    }
    return result;
  }

  /// The static size of a dimension of the class, if a member has one.
  std::optional<int64_t> getStaticSize(unsigned id) {
    for (auto &[dim, member] : ids) {
      auto type = cast<RankedTensorType>(dim.first.getType());
      if (classes.isEquivalent(member, id) && !type.isDynamicDim(dim.second))
        return type.getDimSize(dim.second);
    }
    return std::nullopt;
  }

private:
  /// Dimensions that one loop of `op` goes through are equal.
  void addLoops(linalg::LinalgOp op) {
    SmallVector<std::optional<unsigned>> loops(op.getNumLoops());
    auto join = [&](Value value, AffineMap map) {
      if (!isa<RankedTensorType>(value.getType()))
        return;
      for (auto [axis, expr] : llvm::enumerate(map.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
          unsigned id = getId(value, axis);
          std::optional<unsigned> &loop = loops[dim.getPosition()];
          if (loop)
            classes.unionSets(*loop, id);
          loop = id;
        }
    };
    for (OpOperand &operand : op->getOpOperands())
      join(operand.get(), op.getMatchingIndexingMap(&operand));
    for (OpResult result : op->getResults())
      join(result, op.getIndexingMapMatchingResult(result));
  }

  /// A slice of a size that was read from a dimension.
  void addSlice(tensor::ExtractSliceOp op) {
    llvm::SmallBitVector dropped = op.getDroppedDims();
    unsigned axis = 0;
    for (auto [dim, size] : llvm::enumerate(op.getMixedSizes())) {
      if (dropped.test(dim))
        continue;
      auto value = dyn_cast<Value>(size);
      auto read =
          value ? value.getDefiningOp<tensor::DimOp>() : tensor::DimOp();
      if (read && read.getConstantIndex() &&
          isa<RankedTensorType>(read.getSource().getType()))
        classes.unionSets(getId(op.getResult(), axis),
                          getId(read.getSource(), *read.getConstantIndex()));
      ++axis;
    }
  }

  /// Dimensions that stay whole.
  void addExpansion(tensor::ExpandShapeOp op) {
    for (auto [axis, parts] : llvm::enumerate(op.getReassociationIndices()))
      if (parts.size() == 1)
        classes.unionSets(getId(op.getSrc(), axis),
                          getId(op.getResult(), parts.front()));
  }

  unsigned getId(Value value, unsigned axis) {
    auto [it, inserted] =
        ids.insert({{value, axis}, static_cast<unsigned>(ids.size())});
    if (inserted)
      classes.insert(it->second);
    return it->second;
  }

  std::optional<unsigned> find(Value value, unsigned axis) {
    auto it = ids.find({value, axis});
    return it == ids.end() ? std::nullopt : std::optional<unsigned>(it->second);
  }

  std::string getKnown(unsigned id) {
    auto it = names.find(classes.getLeaderValue(id));
    return it == names.end() ? "" : it->second;
  }

  std::string getRole(unsigned leader) {
    for (auto &[id, role] : roles)
      if (classes.isEquivalent(id, leader))
        return stringify(role).str();
    return "";
  }

  llvm::MapVector<std::pair<Value, unsigned>, unsigned> ids;
  llvm::EquivalenceClasses<unsigned> classes;
  llvm::MapVector<unsigned, Role> roles;
  struct Chunks {
    unsigned count, length;
    int64_t chunk;
  };
  SmallVector<Chunks> chunks;
  SmallVector<std::pair<unsigned, unsigned>> groups;
  std::map<unsigned, std::string> names;
  llvm::StringSet<> used;
};

struct NameSizes : mamba::impl::MambaNameSizesPassBase<NameSizes> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func.isPublic() && !func.isDeclaration() &&
          llvm::hasSingleElement(func.getBody()))
        name(func);
  }

  void name(func::FuncOp func) {
    SizeClasses classes;
    func.walk([&](Operation *op) { classes.add(op); });
    Builder b(&getContext());
    for (BlockArgument argument : func.getArguments()) {
      setNames(
          b, argument.getType(),
          [&](unsigned axis) { return classes.name(argument, axis).str(); },
          [&](Attribute dims) {
            func.setArgAttr(argument.getArgNumber(), kDimsAttrName, dims);
          });
    }
    Operation *terminator = func.front().getTerminator();
    for (auto [number, result] : llvm::enumerate(terminator->getOperands()))
      setNames(
          b, result.getType(),
          [&, result = result](unsigned axis) {
            return classes.describe(result, axis);
          },
          [&, number = number](Attribute dims) {
            func.setResultAttr(number, kDimsAttrName, dims);
          });
    SmallVector<std::string> constraints = classes.getConstraints(
        [&](unsigned id) { return classes.getStaticSize(id); });
    if (!constraints.empty())
      func->setAttr(kConstraintsAttrName,
                    b.getStrArrayAttr(SmallVector<StringRef>(
                        constraints.begin(), constraints.end())));
  }

  static void setNames(Builder &b, Type type,
                       llvm::function_ref<std::string(unsigned)> getName,
                       llvm::function_ref<void(Attribute)> set) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return;
    SmallVector<Attribute> dims;
    bool any = false;
    for (int64_t axis = 0; axis < tensor.getRank(); ++axis) {
      std::string name = tensor.isDynamicDim(axis) ? getName(axis) : "";
      any |= !name.empty();
      dims.push_back(b.getStringAttr(name));
    }
    if (any)
      set(b.getArrayAttr(dims));
  }
};
} // namespace
