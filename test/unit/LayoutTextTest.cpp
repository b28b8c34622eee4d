//===- LayoutTextTest.cpp - Tests of the text form of layouts -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutRandom.h"
#include "mamba/Layout/Fragments.h"
#include "mamba/Layout/LinearLayout.h"
#include "mamba/Layout/SharedMemory.h"

#include "gtest/gtest.h"

using namespace mamba;

namespace {

std::string message(llvm::StringRef text) {
  llvm::Expected<LinearLayout> layout = LinearLayout::parse(text);
  return layout ? "" : llvm::toString(layout.takeError());
}

TEST(LayoutText, Prints) {
  EXPECT_EQ(mmaFragment(MmaOperand::C, 32).str(),
            "register[(0,1),(8,0)], lane[(0,2),(0,4),(1,0),(2,0),(4,0)] -> "
            "dim0[16], dim1[8]");
  EXPECT_EQ(LinearLayout::identity("offset", "dim0", 8).str(),
            "offset[1,2,4] -> dim0[8]");
  EXPECT_EQ(LinearLayout::broadcast("warp", 4).str(), "warp[(),()] ->");
  EXPECT_EQ(LinearLayout().str(), "->");
}

TEST(LayoutText, RoundTrips) {
  LayoutRandom random(1);
  for (int round = 0; round < 100; ++round) {
    LinearLayout layout =
        random.layout({{"register", random.below(4)}, {"lane", 5}, {"warp", 0}},
                      {{"dim0", random.below(5)}, {"dim1", random.below(5)}});
    EXPECT_EQ(llvm::cantFail(LinearLayout::parse(layout.str())), layout);
    LinearLayout offsets =
        random.layout({{"dim0", 3}, {"dim1", 3}}, {{"offset", 7}});
    EXPECT_EQ(llvm::cantFail(LinearLayout::parse(offsets.str())), offsets);
  }
  SharedTile tile;
  tile.rows = 8;
  tile.columns = 64;
  tile.swizzle = Swizzle::Bytes128;
  for (const LinearLayout &layout :
       {LinearLayout(), LinearLayout::broadcast("warp", 4),
        wgmmaAccumulator(64, 256), sharedOffsets(tile), sharedLayout(tile)})
    EXPECT_EQ(llvm::cantFail(LinearLayout::parse(layout.str())), layout);
}

TEST(LayoutText, SpacesAndParenthesesAreFree) {
  EXPECT_EQ(llvm::cantFail(
                LinearLayout::parse("  lane [ ( 1 ), 2 ,4]->dim0 [ 8 ]  ")),
            LinearLayout::identity("lane", "dim0", 8));
}

TEST(LayoutText, Errors) {
  EXPECT_EQ(message(""), "expected a name at column 1 of a layout");
  EXPECT_EQ(message("lane[1,2] dim0[4]"),
            "expected '->' at column 11 of a layout");
  EXPECT_EQ(message("lane[1,2 -> dim0[4]"),
            "expected ']' at column 10 of a layout");
  EXPECT_EQ(message("lane[1,x] -> dim0[4]"),
            "expected a 32-bit integer at column 8 of a layout");
  EXPECT_EQ(message("lane[1,99999999999] -> dim0[4]"),
            "expected a 32-bit integer at column 8 of a layout");
  EXPECT_EQ(message("lane[(1,2] -> dim0[4]"),
            "expected ')' at column 10 of a layout");
  EXPECT_EQ(message("lane[1] -> dim0[4] lane"),
            "expected the end at column 20 of a layout");
  EXPECT_EQ(message("lane[1], lane[2] -> dim0[4]"),
            "expected one input `lane`");
  EXPECT_EQ(message("lane[(0,0)] -> dim0[4], dim0[4]"),
            "expected one output `dim0`");
  EXPECT_EQ(message("lane[1] -> dim0[3]"),
            "expected the size of `dim0` to be a power of two, got 3");
  EXPECT_EQ(message("lane[1] -> dim0[0]"),
            "expected the size of `dim0` to be a power of two, got 0");
  EXPECT_EQ(message("lane[(1,2)] -> dim0[4]"),
            "expected 1 coordinates in a basis of `lane`, got 2");
  EXPECT_EQ(message("lane[4] -> dim0[4]"),
            "expected coordinates below 4 along `dim0`, got 4");
  EXPECT_EQ(message("-> a[65536], b[65536], c[2]"),
            "expected at most 32 bits of inputs and of outputs");
}

} // namespace
