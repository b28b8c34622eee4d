//===- BindingTest.cpp - Tests of signatures and argument binding ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/Binding.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Driver/Preset.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <map>

using namespace mamba;
using llvm::cantFail;
using llvm::toString;
using mlir::ArrayRef;
using mlir::SmallVector;
using mlir::StringRef;

namespace {

class Binding : public ::testing::Test {
protected:
  Binding() {
    context.loadDialect<MambaDialect, mlir::affine::AffineDialect,
                        mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
  }

  /// The only function of a preset.
  mlir::func::FuncOp makePreset(const PresetOptions &options) {
    module =
        cantFail(buildPreset(&context, *findModel("mamba2-130m"), options));
    return cantFail(findFunction(*module, ""));
  }

  mlir::func::FuncOp parse(StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    return module ? cantFail(findFunction(*module, "")) : nullptr;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

using Shapes = std::map<std::string, std::vector<int64_t>>;

const Shapes kSsdShapes = {
    {"x", {2, 70, 6, 64}},  {"dt", {2, 70, 6}},     {"A", {6}},
    {"B", {2, 70, 3, 128}}, {"C", {2, 70, 3, 128}}, {"D", {6}},
    {"dt_bias", {6}}};

/// f32 arrays of these shapes, bound to the arguments. The message, or empty.
std::string bindShapes(const Signature &signature, const Shapes &shapes,
                       Dtype dtype = Dtype::F32) {
  std::vector<NamedArray> arrays;
  for (auto &[name, shape] : shapes) {
    arrays.push_back({name, cantFail(HostArray::create(dtype, shape))});
    std::memset(arrays.back().array.getData(), 0,
                arrays.back().array.getNumBytes());
  }
  auto bound = bindArguments(signature, std::move(arrays));
  if (!bound)
    return toString(bound.takeError());
  for (auto [parameter, array] : llvm::zip_equal(signature.arguments, *bound)) {
    EXPECT_EQ(array.getDtype(), parameter.dtype);
    EXPECT_EQ(array.getShape(), ArrayRef(shapes.at(parameter.name)));
  }
  return "";
}

Shapes with(Shapes shapes, const std::string &name,
            std::vector<int64_t> shape) {
  shapes[name] = std::move(shape);
  return shapes;
}

TEST_F(Binding, ReadsNamesAndRoles) {
  PresetOptions options;
  options.chunkStates = true;
  Signature signature = cantFail(Signature::get(makePreset(options)));
  EXPECT_EQ(signature.name, "ssd");
  ASSERT_EQ(signature.arguments.size(), 7u);
  EXPECT_EQ(signature.arguments[0].name, "x");
  EXPECT_EQ(signature.arguments[0].describeShape(),
            "[batch, length, heads, 64]");
  EXPECT_EQ(signature.arguments[3].describeShape(),
            "[batch, length, groups, 128]");
  ASSERT_EQ(signature.results.size(), 3u);
  EXPECT_EQ(signature.results[1].name, "chunk_states");
  EXPECT_EQ(signature.results[1].describeShape(),
            "[batch, chunks, heads, 64, 128]");
}

TEST_F(Binding, AcceptsConsistentShapes) {
  Signature signature = cantFail(Signature::get(makePreset({})));
  EXPECT_EQ(bindShapes(signature, kSsdShapes), "");
}

TEST_F(Binding, SaysWhichShapeIsWrong) {
  Signature signature = cantFail(Signature::get(makePreset({})));
  EXPECT_EQ(bindShapes(signature, with(kSsdShapes, "dt", {2, 71, 6})),
            "expected dimension 1 (length) of 'dt' to be 70 as in 'x', got 71");
  EXPECT_EQ(bindShapes(signature, with(kSsdShapes, "dt", {2, 6})),
            "expected 'dt' to have 3 dimensions [batch, length, heads], got 2 "
            "in [2, 6]");
  EXPECT_EQ(bindShapes(signature, with(kSsdShapes, "x", {2, 70, 6, 32})),
            "expected dimension 3 (head dim) of 'x' to be 64, got 32");
  EXPECT_EQ(bindShapes(signature, with(kSsdShapes, "A", {5})),
            "expected dimension 0 (heads) of 'A' to be 6 as in 'x', got 5");
  Shapes fourGroups = with(kSsdShapes, "B", {2, 70, 4, 128});
  EXPECT_EQ(bindShapes(signature, with(fourGroups, "C", {2, 70, 4, 128})),
            "expected heads (6) to be a multiple of groups (4)");
  Shapes noGroups = with(kSsdShapes, "B", {2, 70, 0, 128});
  EXPECT_EQ(bindShapes(signature, with(noGroups, "C", {2, 70, 0, 128})),
            "expected at least 1 in groups, got 0");
}

TEST_F(Binding, SaysWhichNameIsWrong) {
  Signature signature = cantFail(Signature::get(makePreset({})));
  EXPECT_EQ(bindShapes(signature, with(kSsdShapes, "q", {1})),
            "function 'ssd' has no argument 'q'; it has x, dt, A, B, C, D, "
            "dt_bias");
  Shapes withoutDt = kSsdShapes;
  withoutDt.erase("dt");
  EXPECT_EQ(bindShapes(signature, withoutDt),
            "expected an array for argument 'dt' of function 'ssd', f16 "
            "[batch, length, heads]");
  std::vector<NamedArray> twice;
  for (int i = 0; i < 2; ++i)
    twice.push_back({"A", cantFail(HostArray::create(Dtype::F32, {6}))});
  auto bound = bindArguments(signature, std::move(twice));
  ASSERT_FALSE(bool(bound));
  EXPECT_EQ(toString(bound.takeError()), "argument 'A' is given twice");
}

TEST_F(Binding, SaysWhichTypeIsWrong) {
  PresetOptions options;
  options.dtype = Dtype::BF16;
  Signature signature = cantFail(Signature::get(makePreset(options)));
  EXPECT_EQ(bindShapes(signature, kSsdShapes, Dtype::F16),
            "expected 'x' (bf16) to be float32, got float16");
  options.dtype = Dtype::F16;
  signature = cantFail(Signature::get(makePreset(options)));
  EXPECT_EQ(bindShapes(signature, kSsdShapes, Dtype::I32),
            "expected 'x' (f16) to be float32 or float16, got int32");
}

TEST_F(Binding, StaticHeadsReachArgumentsWithoutThem) {
  mlir::func::FuncOp function = parse(R"mlir(
    func.func @f(%dt: tensor<?x?x?xf32>, %A: tensor<6xf32>)
        -> tensor<?x6x?x16xf32> {
      %0, %1 = mamba.chunk_cumsum chunk_size(16)
          dt(%dt : tensor<?x?x?xf32>) A(%A : tensor<6xf32>)
          -> tensor<?x6x?x16xf32>, tensor<?x6x?x16xf32>
      return %1 : tensor<?x6x?x16xf32>
    })mlir");
  ASSERT_TRUE(function);
  Signature signature = cantFail(Signature::get(function));
  EXPECT_EQ(bindShapes(signature, {{"arg0", {1, 3, 5}}, {"arg1", {6}}}),
            "expected dimension 2 (heads) of 'arg0' to be 6, got 5");
  EXPECT_EQ(signature.results[0].name, "result0");
}

TEST_F(Binding, ChunksFollowLength) {
  mlir::func::FuncOp function = parse(R"mlir(
    func.func @f(%x: tensor<?x?x?x16xf32> {mamba.name = "x"},
                 %B: tensor<?x?x?x16xf32> {mamba.name = "B"},
                 %d: tensor<?x?x?x16xf32> {mamba.name = "d"},
                 %s: tensor<?x?x?x16xf32> {mamba.name = "s"})
        -> tensor<?x?x?x16x16xf32> {
      %0 = mamba.chunk_state x(%x : tensor<?x?x?x16xf32>)
          B(%B : tensor<?x?x?x16xf32>) dt(%d : tensor<?x?x?x16xf32>)
          dA_cumsum(%s : tensor<?x?x?x16xf32>) -> tensor<?x?x?x16x16xf32>
      return %0 : tensor<?x?x?x16x16xf32>
    })mlir");
  ASSERT_TRUE(function);
  Signature signature = cantFail(Signature::get(function));
  Shapes shapes = {{"x", {1, 33, 2, 16}},
                   {"B", {1, 33, 1, 16}},
                   {"d", {1, 2, 3, 16}},
                   {"s", {1, 2, 3, 16}}};
  EXPECT_EQ(bindShapes(signature, shapes), "");
  shapes = with(with(shapes, "d", {1, 2, 2, 16}), "s", {1, 2, 2, 16});
  EXPECT_EQ(bindShapes(signature, shapes),
            "expected 3 chunks of 16 for length 33, got 2");
}

TEST_F(Binding, InfersResultShapes) {
  PresetOptions options;
  options.chunkStates = options.totalDecay = true;
  options.chunkSize = 32;
  mlir::func::FuncOp function = makePreset(options);
  std::vector<SmallVector<int64_t>> shapes = {
      {2, 70, 6, 64},  {2, 70, 6}, {6}, {2, 70, 3, 128},
      {2, 70, 3, 128}, {6},        {6}};
  auto results = cantFail(inferResultShapes(function, shapes));
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0], (SmallVector<int64_t>{2, 70, 6, 64}));
  EXPECT_EQ(results[1], (SmallVector<int64_t>{2, 3, 6, 64, 128}));
  EXPECT_EQ(results[2], (SmallVector<int64_t>{2, 6, 64, 128}));
  EXPECT_EQ(results[3], (SmallVector<int64_t>{2, 6}));

  shapes[0][1] = shapes[1][1] = shapes[3][1] = shapes[4][1] = 0;
  results = cantFail(inferResultShapes(function, shapes));
  EXPECT_EQ(results[0], (SmallVector<int64_t>{2, 0, 6, 64}));
  EXPECT_EQ(results[1], (SmallVector<int64_t>{2, 0, 6, 64, 128}));
}

TEST_F(Binding, RefusesSizesThatDependOnElements) {
  mlir::func::FuncOp function = parse(R"mlir(
    func.func @f(%n: tensor<1xi64>) -> tensor<?xi64> {
      %c0 = arith.constant 0 : index
      %0 = tensor.extract %n[%c0] : tensor<1xi64>
      %1 = arith.index_cast %0 : i64 to index
      %2 = tensor.empty(%1) : tensor<?xi64>
      return %2 : tensor<?xi64>
    })mlir");
  ASSERT_TRUE(function);
  auto results = inferResultShapes(function, {{1}});
  ASSERT_FALSE(bool(results));
  EXPECT_EQ(toString(results.takeError()),
            "cannot tell dimension 0 of result 0 of function 'f' from the "
            "sizes of its arguments");
}

TEST_F(Binding, RefusesOtherTypes) {
  mlir::func::FuncOp function = parse(R"mlir(
    func.func @f(%n: memref<1xf32>) { return })mlir");
  ASSERT_TRUE(function);
  auto signature = Signature::get(function);
  ASSERT_FALSE(bool(signature));
  EXPECT_EQ(toString(signature.takeError()),
            "expected 'arg0' of function 'f' to be a ranked tensor of bf16, "
            "f16, f32, f64, i32 or i64, got memref<1xf32>");
}

} // namespace
