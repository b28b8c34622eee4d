//===- LayoutAlgebraTest.cpp - Tests of the algebra of layouts ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutRandom.h"
#include "mamba/Layout/LinearLayout.h"

#include "gtest/gtest.h"

#include <set>

using namespace mamba;

namespace {

/// The members of a span, by enumeration.
std::set<uint64_t> members(llvm::ArrayRef<BinaryVector> vectors) {
  std::set<uint64_t> all;
  for (uint64_t x = 0; x < uint64_t(1) << vectors.size(); ++x)
    all.insert(multiply(vectors, x));
  return all;
}

BinaryVectors randomVectors(LayoutRandom &random, unsigned count,
                            unsigned bits) {
  BinaryVectors vectors;
  for (unsigned i = 0; i < count; ++i)
    vectors.push_back(random.below(1u << bits));
  return vectors;
}

TEST(BinarySpan, AgreesWithEnumeration) {
  LayoutRandom random(1);
  for (int round = 0; round < 200; ++round) {
    BinaryVectors vectors = randomVectors(random, random.below(7), 6);
    BinarySpan span(vectors);
    std::set<uint64_t> all = members(vectors);
    EXPECT_EQ(all.size(), size_t(1) << span.rank());
    EXPECT_EQ(independentVectors(vectors).size(), span.rank());
    for (uint64_t vector = 0; vector < 64; ++vector) {
      std::optional<uint64_t> sum = span.express(vector);
      EXPECT_EQ(bool(sum), all.count(vector) == 1);
      EXPECT_EQ(span.contains(vector), bool(sum));
      EXPECT_EQ(sum ? multiply(vectors, *sum) : vector, vector);
      uint64_t least = 64, most = 0;
      for (uint64_t member : all) {
        least = std::min(least, vector ^ member);
        most = std::max(most, vector ^ member);
      }
      EXPECT_EQ(span.reduce(vector), least);
      EXPECT_EQ(span.maximize(vector), most);
    }
  }
}

TEST(BinarySpan, Intersections) {
  LayoutRandom random(2);
  for (int round = 0; round < 200; ++round) {
    BinaryVectors a = randomVectors(random, random.below(6), 6);
    BinaryVectors b = randomVectors(random, random.below(6), 6);
    std::set<uint64_t> inA = members(a), both;
    for (uint64_t vector : members(b))
      if (inA.count(vector))
        both.insert(vector);
    BinaryVectors basis = intersectSpans(a, b);
    EXPECT_EQ(BinarySpan(basis).rank(), basis.size());
    EXPECT_EQ(members(basis), both);
  }
}

TEST(BinarySpan, CommonComplements) {
  LayoutRandom random(3);
  for (int round = 0; round < 500; ++round) {
    unsigned size = 1 + random.below(8);
    BinaryVectors a = randomVectors(random, random.below(size + 1), size);
    BinaryVectors b = randomVectors(random, random.below(size + 1), size);
    unsigned least = std::max(BinarySpan(a).rank(), BinarySpan(b).rank());
    unsigned kept = least + random.below(size - least + 1);
    BinaryVectors rest = commonComplement(a, b, kept, size);
    ASSERT_EQ(rest.size(), size - kept);
    for (const BinaryVectors &side : {a, b}) {
      BinarySpan span(side);
      for (BinaryVector vector : rest)
        EXPECT_TRUE(span.add(vector));
    }
  }
}

const LayoutDims kThreads = {{"register", 3}, {"lane", 5}, {"warp", 2}};
const LayoutDims kTile = {{"dim0", 4}, {"dim1", 3}};

LinearLayout identityOf(llvm::ArrayRef<LayoutDim> dims) {
  LinearLayout identity;
  for (const LayoutDim &dim : dims)
    identity =
        identity * LinearLayout::identity(dim.name, dim.name, dim.size());
  return identity;
}

TEST(LinearLayout, ApplyIsLinear) {
  LayoutRandom random(4);
  LinearLayout layout = random.layout(kThreads, kTile);
  for (int round = 0; round < 200; ++round) {
    uint64_t a = random.below(1024), b = random.below(1024);
    EXPECT_EQ(layout.applyFlat(a) ^ layout.applyFlat(b),
              layout.applyFlat(a ^ b));
  }
  EXPECT_EQ(layout.applyFlat(0), 0u);
  for (uint32_t reg = 0; reg < 8; ++reg) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      Coordinates at = layout.apply({reg, lane, 2});
      uint64_t flat = layout.applyFlat(reg | lane << 3 | 2 << 8);
      EXPECT_EQ(at[0], flat & 15);
      EXPECT_EQ(at[1], flat >> 4);
      EXPECT_EQ(layout.flattenOut(at), flat);
    }
  }
}

TEST(LinearLayout, ComposeIsApplicationInTurn) {
  LayoutRandom random(5);
  for (int round = 0; round < 50; ++round) {
    LinearLayout inner = random.layout(kThreads, kTile);
    // The outer layout names the dimensions in another order, one is larger.
    LinearLayout outer =
        random.layout({{"dim1", 5}, {"dim0", 4}}, {{"offset", 9}});
    LinearLayout both = inner.compose(outer);
    for (uint64_t index = 0; index < 1024; ++index) {
      Coordinates at = inner.unflattenOut(inner.applyFlat(index));
      EXPECT_EQ(both.applyFlat(index), outer.apply({at[1], at[0]})[0]);
    }
    LinearLayout last =
        random.layout({{"offset", 9}}, {{"bank", 5}, {"line", 4}});
    EXPECT_EQ(both.compose(last), inner.compose(outer.compose(last)));
    EXPECT_EQ(identityOf(kThreads).compose(inner), inner);
    EXPECT_EQ(inner.compose(identityOf(kTile)), inner);
  }
}

TEST(LinearLayout, Inverses) {
  LayoutRandom random(6);
  for (int round = 0; round < 100; ++round) {
    LinearLayout onto = random.surjective(kThreads, kTile);
    ASSERT_TRUE(onto.rightInverse());
    EXPECT_EQ(onto.rightInverse()->compose(onto), identityOf(kTile));
    EXPECT_FALSE(onto.leftInverse());

    LinearLayout into = random.injective(kTile, kThreads);
    ASSERT_TRUE(into.leftInverse());
    EXPECT_EQ(into.compose(*into.leftInverse()), identityOf(kTile));
    EXPECT_FALSE(into.rightInverse());

    LinearLayout both = random.surjective(kTile, {{"offset", 7}});
    ASSERT_TRUE(both.isBijective());
    EXPECT_EQ(*both.leftInverse(), *both.rightInverse());
    EXPECT_EQ(both.leftInverse()->compose(both), identityOf({{"offset", 7}}));
    EXPECT_EQ(*both.leftInverse()->leftInverse(), both);
  }
}

TEST(LinearLayout, RightInverseLeavesFreeBitsZero) {
  LayoutRandom random(7);
  for (int round = 0; round < 100; ++round) {
    LinearLayout layout = random.surjective(kThreads, kTile);
    LinearLayout inverse = *layout.rightInverse();
    for (uint64_t flat = 0; flat < 128; ++flat) {
      Coordinates at = inverse.unflattenOut(inverse.applyFlat(flat));
      EXPECT_EQ(at[0] & layout.getFreeMask(kRegister), 0u);
      EXPECT_EQ(at[1] & layout.getFreeMask(kLane), 0u);
      EXPECT_EQ(at[2] & layout.getFreeMask(kWarp), 0u);
    }
  }
}

TEST(LinearLayout, ProductAndDivision) {
  LayoutRandom random(8);
  for (int round = 0; round < 100; ++round) {
    LinearLayout tile =
        random.layout({{"register", 1 + random.below(2)}, {"lane", 3}},
                      {{"dim0", 2}, {"dim1", 1 + random.below(3)}});
    LinearLayout rest = random.layout({{"register", 2}, {"warp", 2}},
                                      {{"dim0", 3}, {"dim1", 1}});
    LinearLayout product = tile * rest;
    // Low bits by the tile, high bits by the rest.
    for (uint32_t reg = 0; reg < product.getInSize(kRegister); ++reg) {
      for (uint32_t lane = 0; lane < 8; ++lane) {
        for (uint32_t warp = 0; warp < 4; ++warp) {
          Coordinates low = tile.apply({reg % tile.getInSize(kRegister), lane});
          Coordinates high =
              rest.apply({reg / tile.getInSize(kRegister), warp});
          Coordinates at = product.apply({reg, lane, warp});
          EXPECT_EQ(at[0], low[0] + 4 * high[0]);
          EXPECT_EQ(at[1], low[1] + tile.getOutSize("dim1") * high[1]);
        }
      }
    }
    std::optional<LinearLayout> quotient = product.divide(tile);
    ASSERT_TRUE(quotient);
    EXPECT_EQ(tile * *quotient, product);
    EXPECT_EQ(quotient->selectIns({"register", "warp"}), rest);
    EXPECT_EQ((tile * rest) * tile, tile * (rest * tile));
    EXPECT_EQ(tile * LinearLayout(), tile);
    EXPECT_EQ(*product.divide(LinearLayout()), product);
  }
}

TEST(LinearLayout, DivisionFails) {
  LinearLayout layout = llvm::cantFail(
      LinearLayout::parse("register[(0,1),(1,2)] -> dim0[2], dim1[4]"));
  // The second basis has low bits along dim0.
  EXPECT_TRUE(layout.divide(LinearLayout::identity("register", "dim1", 2)));
  EXPECT_FALSE(layout.divide(
      llvm::cantFail(LinearLayout::parse("register[(0,1)] -> dim0[2], "
                                         "dim1[2]"))));
  EXPECT_FALSE(layout.divide(LinearLayout::identity("register", "dim0", 2)));
  EXPECT_FALSE(layout.divide(LinearLayout::identity("register", "dim1", 8)));
  EXPECT_FALSE(layout.divide(LinearLayout::identity("lane", "dim1", 2)));
}

TEST(LinearLayout, FreeAndBroadcastBits) {
  LinearLayout layout = llvm::cantFail(LinearLayout::parse(
      "register[(0,1),(0,0),(1,0)], lane[(1,1),(2,0),(0,0)], warp[(2,0)] "
      "-> dim0[4], dim1[2]"));
  EXPECT_EQ(layout.getBroadcastMask("register"), 2u);
  EXPECT_EQ(layout.getBroadcastMask("lane"), 4u);
  EXPECT_EQ(layout.getBroadcastMask("warp"), 0u);
  EXPECT_EQ(layout.getFreeMask("register"), 2u);
  EXPECT_EQ(layout.getFreeMask("lane"), 5u);
  EXPECT_EQ(layout.getFreeMask("warp"), 1u);
  EXPECT_EQ(layout.getFreeMask("block"), 0u);
  EXPECT_TRUE(layout.isSurjective());
  EXPECT_FALSE(layout.isInjective());
  EXPECT_EQ(layout.dropBroadcast("register").str(),
            "register[(0,1),(1,0)], lane[(1,1),(2,0),(0,0)], warp[(2,0)] -> "
            "dim0[4], dim1[2]");
}

TEST(LinearLayout, Dimensions) {
  LayoutRandom random(9);
  LinearLayout layout = random.layout(kThreads, kTile);
  EXPECT_EQ(layout.selectIns({"warp", "lane", "register"})
                .selectIns({"register", "lane", "warp"}),
            layout);
  EXPECT_EQ(layout.selectOuts({"dim1", "dim0"}).selectOuts({"dim0", "dim1"}),
            layout);
  EXPECT_EQ(layout.renameIn("lane", "x").renameIn("x", "lane"), layout);
  EXPECT_EQ(layout.renameOut("dim0", "x").renameOut("x", "dim0"), layout);
  EXPECT_EQ(layout.resizeIn("warp", 4).resizeIn("warp", 2), layout);
  EXPECT_EQ(layout.resizeIn("warp", 4),
            layout * LinearLayout::broadcast("warp", 4));
  EXPECT_EQ(layout.resizeIn("block", 3).getBroadcastMask("block"), 7u);
  LinearLayout row = layout.selectOuts({"dim0"});
  for (uint64_t index = 0; index < 1024; ++index)
    EXPECT_EQ(row.applyFlat(index),
              layout.unflattenOut(layout.applyFlat(index))[0]);
}

TEST(LinearLayout, NoDimensions) {
  LinearLayout scalar;
  EXPECT_TRUE(scalar.isBijective());
  EXPECT_EQ(scalar.applyFlat(0), 0u);
  EXPECT_EQ(scalar.compose(scalar), scalar);
  EXPECT_EQ(*scalar.leftInverse(), scalar);
}

} // namespace
