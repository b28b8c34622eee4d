//===- SharedPlan.cpp - Conversions through shared memory -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of the shared memory is a basis of the value's coordinates: the
// basis vector of offset bit i says which element moves 2^i elements away. It
// is chosen in three parts:
//
//   vector   the low bits: elements that one thread (or one row of a matrix)
//            accesses together, up to 16 bytes, on one or both sides
//   row      the high bits, beyond the 128 bytes that the banks hold side by
//            side. Two lanes conflict if they differ by an element of this part
//            (modulo the vector), so it must meet neither side's span of vector
//            and lanes of a phase. Both spans fit 128 bytes, so a common
//            complement exists: no pair of layouts has bank conflicts.
//   bank     the bits between: any completion.
//
// That leaves freedom, which is used to align vectors: the place of a lane
// should not reach into the vector's bits. Where both sides cannot be
// satisfied, a lane permutes the registers of its vector (selects).
//
//===----------------------------------------------------------------------===//

#include "ConversionDetail.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace mamba::detail {

using llvm::ArrayRef;

namespace {

/// One side: each element once, copies left out.
struct Side {
  BinaryVectors registers, lanes, warps;
  uint32_t idleLanes = 0, idleWarps = 0;

  explicit Side(const Columns &columns);
};

/// How one side accesses the memory. The low `vectorBits` offset bits are its
/// vector; for a matrix these are the three bits of a row.
struct Access {
  SharedAccessKind kind = SharedAccessKind::Vector;
  unsigned vectorBits = 0;
};

/// One way to do it.
struct Candidate {
  Access store, load;
  /// By offset bit.
  BinaryVectors basis;
  uint64_t cost = ~uint64_t(0);
};

class SharedPlanner {
public:
  SharedPlanner(const Columns &from, const Columns &to, unsigned bits,
                const ConversionOptions &options)
      : source(from), destination(to), from(from), to(to), bits(bits),
        elementBytes(options.elementBytes), options(options),
        wordBits(elementBytes < 4 ? llvm::Log2_32(4 / elementBytes) : 0) {}

  void run(const LayoutDims &outs, bool warpOnly, ConversionPlan &plan);

private:
  void tryVectors();
  void tryMatrix(bool storeMatrix, SharedAccessKind kind);
  void consider(const BinaryVectors &vector, Access store, Access load);

  BinaryVectors phaseSpan(const Side &side, Access access,
                          const BinaryVectors &basis) const;
  BinaryVectors completeBasis(const BinaryVectors &vector, Access store,
                              Access load) const;
  bool alignVectors(Candidate &candidate, unsigned vectorBits) const;
  uint64_t cost(const Side &side, Access access) const;
  uint64_t moveCost(const Side &side, const BinaryVectors &registers,
                    Access access, const BinaryVectors &basis) const;

  BinaryVectors orderRegisters(const Side &side, Access access,
                               const BinaryVectors &basis) const;
  SharedAccess makeAccess(const Side &side, Access access,
                          const BinaryVectors &registers) const;
  void addRegisters(const BinaryVectors &wanted, const BinaryVectors &held,
                    const Side &side, Access access,
                    ConversionPlan &plan) const;

  Side source, destination;
  const Columns &from, &to;
  unsigned bits, elementBytes;
  const ConversionOptions &options;
  /// Offset bits within a word.
  unsigned wordBits;
  Candidate best;
};

} // namespace

Side::Side(const Columns &columns) {
  BinarySpan span;
  for (BinaryVector column : columns.registers)
    if (span.add(column))
      registers.push_back(column);
  auto add = [&](const BinaryVectors &from, BinaryVectors &to, uint32_t &idle) {
    for (auto [bit, column] : llvm::enumerate(from)) {
      if (!span.add(column))
        idle |= uint32_t(1) << bit;
      to.push_back(column);
    }
  };
  add(columns.lanes, lanes, idleLanes);
  add(columns.warps, warps, idleWarps);
}

/// Instructions and phases of one warp.
uint64_t SharedPlanner::cost(const Side &side, Access access) const {
  uint64_t registers = uint64_t(1) << side.registers.size();
  if (access.kind != SharedAccessKind::Vector) {
    uint64_t matrices = registers / 2;
    return matrices + llvm::divideCeil(matrices, 4);
  }
  uint64_t accesses = registers >> access.vectorBits;
  uint64_t bytes = uint64_t(elementBytes) << access.vectorBits;
  return accesses * (1 + std::max<uint64_t>(bytes * 32 / 128, 1));
}

void SharedPlanner::consider(const BinaryVectors &vector, Access store,
                             Access load) {
  Candidate candidate;
  candidate.store = store;
  candidate.load = load;
  candidate.basis = completeBasis(vector, store, load);
  if (!alignVectors(candidate, vector.size()))
    return;
  candidate.cost = cost(source, store) + cost(destination, load) +
                   moveCost(source, from.registers, store, candidate.basis) +
                   moveCost(destination, to.registers, load, candidate.basis);
  if (candidate.cost < best.cost)
    best = std::move(candidate);
}

/// How many of the first vectors lie in the registers of a side.
static unsigned countHeld(const Side &side, ArrayRef<BinaryVector> vectors) {
  BinarySpan registers(side.registers);
  unsigned count = 0;
  while (count < vectors.size() && registers.contains(vectors[count]))
    ++count;
  return count;
}

void SharedPlanner::tryVectors() {
  unsigned most = llvm::Log2_32(16 / elementBytes);
  BinaryVectors shared =
      intersectSpans(source.registers, destination.registers);
  if (shared.size() > most)
    shared.resize(most);
  // What is left of the 16 bytes can serve one side only.
  for (const Side *side : {&destination, &source}) {
    BinaryVectors vector = shared;
    BinarySpan span(vector);
    for (BinaryVector column : side->registers)
      if (vector.size() < most && span.add(column))
        vector.push_back(column);
    Access store, load;
    store.vectorBits = countHeld(source, vector);
    load.vectorBits = countHeld(destination, vector);
    consider(vector, store, load);
  }
}

/// The 16 bytes of a matrix row; empty if the side cannot use matrices.
static BinaryVectors matrixRow(const Side &side, SharedAccessKind kind) {
  if (side.registers.empty() || side.idleLanes)
    return {};
  if (kind == SharedAccessKind::Matrix)
    return {side.registers[0], side.lanes[0], side.lanes[1]};
  return {side.lanes[2], side.lanes[3], side.lanes[4]};
}

void SharedPlanner::tryMatrix(bool storeMatrix, SharedAccessKind kind) {
  if (elementBytes != 2 ||
      !(storeMatrix ? options.useStmatrix : options.useLdmatrix))
    return;
  const Side &side = storeMatrix ? source : destination;
  const Side &other = storeMatrix ? destination : source;
  BinaryVectors row = matrixRow(side, kind);
  if (row.empty())
    return;
  Access matrix{kind, 3};
  auto propose = [&](Access access) {
    if (storeMatrix)
      consider(row, matrix, access);
    else
      consider(row, access, matrix);
  };
  Access vector;
  vector.vectorBits = countHeld(other, row);
  propose(vector);
  if (!(storeMatrix ? options.useLdmatrix : options.useStmatrix))
    return;
  for (SharedAccessKind otherKind :
       {SharedAccessKind::Matrix, SharedAccessKind::MatrixTransposed})
    if (matrixRow(other, otherKind) == row)
      propose({otherKind, 3});
}

/// What a phase of an access touches, made up to whole words.
BinaryVectors SharedPlanner::phaseSpan(const Side &side, Access access,
                                       const BinaryVectors &basis) const {
  unsigned together =
      std::min<unsigned>(std::max(access.vectorBits, wordBits), basis.size());
  BinaryVectors span(basis.begin(), basis.begin() + together);
  if (access.kind == SharedAccessKind::Matrix) {
    span.append({side.lanes[2], side.lanes[3], side.lanes[4]});
  } else if (access.kind == SharedAccessKind::MatrixTransposed) {
    span.append({side.registers[0], side.lanes[0], side.lanes[1]});
  } else {
    unsigned bytes = elementBytes << access.vectorBits;
    unsigned lanes = llvm::Log2_32(std::min(32u, 128 / bytes));
    span.append(side.lanes.begin(), side.lanes.begin() + lanes);
  }
  return span;
}

BinaryVectors SharedPlanner::completeBasis(const BinaryVectors &vector,
                                           Access store, Access load) const {
  BinaryVectors basis = vector;
  BinarySpan span(basis);
  auto complete = [&](ArrayRef<BinaryVector> from, unsigned size) {
    for (BinaryVector element : from)
      if (basis.size() < size && span.add(element))
        basis.push_back(element);
  };
  BinaryVectors units;
  for (unsigned i = 0; i < bits; ++i)
    units.push_back(uint64_t(1) << i);
  // A vector below a word is made up to one, by lanes of a side: these then
  // share words.
  complete(destination.lanes, wordBits);
  complete(source.lanes, wordBits);
  complete(units, wordBits);

  unsigned across = std::min(bits, llvm::Log2_32(128 / elementBytes));
  BinaryVectors stored = phaseSpan(source, store, basis);
  BinaryVectors loaded = phaseSpan(destination, load, basis);
  BinaryVectors rows = commonComplement(stored, loaded, across, bits);
  span.add(rows);
  complete(stored, across);
  complete(loaded, across);
  complete(units, across);
  basis.append(rows);
  return basis;
}

/// The elements that must not reach into the vector: those of different threads
/// and, as far as registers cannot be renamed, of different matrices.
static BinaryVectors mustAlign(const Side &side, SharedAccessKind kind) {
  BinaryVectors elements;
  if (kind == SharedAccessKind::MatrixTransposed)
    elements.append({side.registers[0], side.lanes[0], side.lanes[1]});
  else if (kind == SharedAccessKind::Matrix)
    elements.append({side.lanes[2], side.lanes[3], side.lanes[4]});
  else
    elements = side.lanes;
  if (kind != SharedAccessKind::Vector)
    elements.append(side.registers.begin() + 1, side.registers.end());
  elements.append(side.warps);
  return elements;
}

/// Adds vector elements to the other basis elements such that threads start at
/// multiples of a vector. Keeps the spans on which bank conflicts depend. False
/// if matrix rows would not be aligned.
bool SharedPlanner::alignVectors(Candidate &candidate,
                                 unsigned vectorBits) const {
  BinarySpan offsets(candidate.basis);
  unsigned across = std::min(bits, llvm::Log2_32(128 / elementBytes));
  unsigned both =
      std::min(candidate.store.vectorBits, candidate.load.vectorBits);
  BinaryVectors basis = candidate.basis;
  for (unsigned bit = 0; bit < vectorBits; ++bit) {
    // Row elements take only what belongs to both vectors.
    unsigned end = bit < both ? bits : across;
    uint64_t allowed =
        ((uint64_t(1) << end) - 1) & ~((uint64_t(1) << vectorBits) - 1);
    // A linear function of the other offset bits, by its values where it is
    // wanted; 0 elsewhere.
    BinarySpan given;
    uint64_t values = 0;
    unsigned count = 0;
    auto valueAt = [&](uint64_t offset) {
      return bool(llvm::popcount(*given.express(offset) & values) & 1);
    };
    auto require = [&](const Side &side, Access access) {
      if (bit >= access.vectorBits)
        return true;
      bool satisfied = true;
      for (BinaryVector element : mustAlign(side, access.kind)) {
        uint64_t offset = *offsets.express(element);
        bool value = (offset >> bit) & 1;
        if (given.contains(offset & allowed)) {
          satisfied &= valueAt(offset & allowed) == value;
          continue;
        }
        given.add(offset & allowed);
        values |= uint64_t(value) << count++;
      }
      return satisfied || access.kind == SharedAccessKind::Vector;
    };
    bool storeFirst = candidate.store.kind != SharedAccessKind::Vector;
    bool aligned = storeFirst ? require(source, candidate.store)
                              : require(destination, candidate.load);
    aligned &= storeFirst ? require(destination, candidate.load)
                          : require(source, candidate.store);
    if (!aligned)
      return false;
    for (unsigned other = vectorBits; other < bits; ++other)
      given.add(uint64_t(1) << other);
    for (unsigned other = vectorBits; other < end; ++other)
      if (valueAt(uint64_t(1) << other))
        basis[other] ^= candidate.basis[bit];
  }
  candidate.basis = std::move(basis);
  return true;
}

/// The elements by which each column is off its vector's start.
static BinaryVectors misalignments(const BinaryVectors &columns,
                                   unsigned vectorBits,
                                   const BinaryVectors &basis) {
  BinarySpan span(basis);
  BinaryVectors elements;
  for (BinaryVector column : columns) {
    uint64_t low = *span.express(column) & ((uint64_t(1) << vectorBits) - 1);
    elements.push_back(multiply(basis, low));
  }
  return elements;
}

/// The order of registers that an access needs, as elements: first the vector
/// (or the half of a pair), then the rest, at the start of their vectors.
BinaryVectors SharedPlanner::orderRegisters(const Side &side, Access access,
                                            const BinaryVectors &basis) const {
  if (access.kind != SharedAccessKind::Vector)
    return side.registers;
  BinaryVectors order(basis.begin(), basis.begin() + access.vectorBits);
  BinarySpan span(order);
  BinaryVectors off = misalignments(side.registers, access.vectorBits, basis);
  for (auto [column, misalignment] : llvm::zip_equal(side.registers, off))
    if (span.add(column))
      order.push_back(column ^ misalignment);
  return order;
}

/// Instructions that bring registers in order.
uint64_t SharedPlanner::moveCost(const Side &side,
                                 const BinaryVectors &registers, Access access,
                                 const BinaryVectors &basis) const {
  BinaryVectors order = orderRegisters(side, access, basis);
  // A renaming is free, but wins no tie; unless elements share registers of the
  // machine and have to be packed anew.
  uint64_t count = order != registers;
  for (unsigned bit = 0; bit < std::min<unsigned>(wordBits, order.size());
       ++bit)
    if (bit >= registers.size() || order[bit] != registers[bit])
      count = uint64_t(1) << order.size();
  if (access.kind != SharedAccessKind::Vector)
    return count;
  BinaryVectors threads = side.lanes;
  threads.append(side.warps);
  BinarySpan off(misalignments(threads, access.vectorBits, basis));
  return count + (uint64_t(off.rank()) << order.size());
}

SharedAccess SharedPlanner::makeAccess(const Side &side, Access access,
                                       const BinaryVectors &registers) const {
  BinarySpan span(best.basis);
  bool vectors = access.kind == SharedAccessKind::Vector;
  uint64_t vector = (uint64_t(1) << (vectors ? access.vectorBits : 0)) - 1;
  auto toOffsets = [&](const BinaryVectors &elements, uint64_t cleared) {
    BinaryVectors offsets;
    for (BinaryVector element : elements)
      offsets.push_back(*span.express(element) & ~cleared);
    return offsets;
  };
  SharedAccess result;
  result.kind = access.kind;
  result.elementBytes = elementBytes;
  result.vectorBits = vectors ? access.vectorBits : 0;
  result.offsets =
      makeMap(toOffsets(registers, 0), toOffsets(side.lanes, vector),
              toOffsets(side.warps, vector), kOffset, bits);
  return result;
}

/// new[r] = old[the sum that makes the element of r], in each thread relative
/// to the start of its vector. Nothing if that is what is there.
void SharedPlanner::addRegisters(const BinaryVectors &wanted,
                                 const BinaryVectors &held, const Side &side,
                                 Access access, ConversionPlan &plan) const {
  unsigned vectorBits =
      access.kind == SharedAccessKind::Vector ? access.vectorBits : 0;
  BinarySpan span(held);
  auto toRegisters = [&](const BinaryVectors &elements) {
    BinaryVectors registers;
    for (BinaryVector element : elements)
      registers.push_back(*span.express(element));
    return registers;
  };
  BinaryVectors lanes = misalignments(side.lanes, vectorBits, best.basis);
  BinaryVectors warps = misalignments(side.warps, vectorBits, best.basis);
  auto isZero = [](BinaryVector element) { return element == 0; };
  if (wanted == held && llvm::all_of(lanes, isZero) &&
      llvm::all_of(warps, isZero))
    return;
  ConversionStep step;
  step.map = makeMap(toRegisters(wanted), toRegisters(lanes),
                     toRegisters(warps), kRegister, held.size());
  plan.steps.push_back(std::move(step));
}

void SharedPlanner::run(const LayoutDims &outs, bool warpOnly,
                        ConversionPlan &plan) {
  tryVectors();
  for (SharedAccessKind kind :
       {SharedAccessKind::Matrix, SharedAccessKind::MatrixTransposed}) {
    tryMatrix(/*storeMatrix=*/false, kind);
    tryMatrix(/*storeMatrix=*/true, kind);
  }

  plan.kind = ConversionPlan::ThroughShared;
  plan.steps.clear();
  plan.sharedBytes = uint64_t(elementBytes) << bits;
  plan.sharedLayout =
      LinearLayout::fromColumns({{kOffset.str(), bits}}, outs, best.basis);

  BinaryVectors stored = orderRegisters(source, best.store, best.basis);
  addRegisters(stored, from.registers, source, best.store, plan);

  ConversionStep store, barrier, load;
  store.kind = ConversionStep::Store;
  store.access = makeAccess(source, best.store, stored);
  store.access.idleLanes = source.idleLanes;
  store.access.idleWarps = source.idleWarps;
  barrier.kind = ConversionStep::Barrier;
  barrier.warpOnly = warpOnly;
  load.kind = ConversionStep::Load;
  BinaryVectors loaded = orderRegisters(destination, best.load, best.basis);
  load.access = makeAccess(destination, best.load, loaded);
  plan.steps.push_back(std::move(store));
  plan.steps.push_back(std::move(barrier));
  plan.steps.push_back(std::move(load));

  addRegisters(to.registers, loaded, destination, best.load, plan);
}

void planThroughShared(const Columns &from, const Columns &to,
                       const LayoutDims &outs, bool warpOnly,
                       const ConversionOptions &options, ConversionPlan &plan) {
  unsigned bits = 0;
  for (const LayoutDim &dim : outs)
    bits += dim.bits;
  SharedPlanner(from, to, bits, options).run(outs, warpOnly, plan);
}

} // namespace mamba::detail
