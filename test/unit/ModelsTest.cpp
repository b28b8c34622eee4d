//===- ModelsTest.cpp - Tests of the model table --------------------------===//

#include "mamba/Models/Models.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mamba;

namespace {

/// One good model; the tests break one part of it at a time.
const char goodModel[] = R"({
  "name": "tiny-1.5b", "aliases": ["tiny"],
  "hidden": 96, "heads": 6, "head_dim": 80, "state_dim": 128, "groups": 2,
  "conv_width": 4, "chunk_size": 64, "mamba_layers": 3, "layers": 5,
  "z_gate": "scan", "dt_limit": [0.5, null], "state_dtype": "f32",
  "dtype": "bf16", "d_has_head_dim": true, "inferred": ["groups"],
  "notes": "n"
})";

std::string table(llvm::StringRef model) { return "[" + model.str() + "]"; }

/// The good model with the only occurrence of `from` replaced by `to`.
std::string edited(llvm::StringRef from, llvm::StringRef to) {
  std::string text = goodModel;
  size_t at = text.find(from.str());
  EXPECT_NE(at, std::string::npos) << from.str();
  EXPECT_EQ(text.find(from.str(), at + 1), std::string::npos) << from.str();
  return text.replace(at, from.size(), to.str());
}

/// The message about a malformed table; empty if it is accepted.
std::string message(llvm::StringRef json) {
  return llvm::toString(validateModels(json));
}

std::string messageOfEdit(llvm::StringRef from, llvm::StringRef to) {
  return message(table(edited(from, to)));
}

void expectMessage(const std::string &got, const char *part) {
  EXPECT_NE(got.find(part), std::string::npos)
      << "expected \"" << part << "\" in \"" << got << "\"";
}

const ModelConfig &model(llvm::StringRef name) {
  static const ModelConfig none;
  const ModelConfig *config = findModel(name);
  EXPECT_NE(config, nullptr) << name.str();
  return config ? *config : none;
}

TEST(Models, EmbeddedTableIsValid) {
  EXPECT_EQ(message(getModelsJSON()), "");
  EXPECT_EQ(getModels().size(), 36u);
}

TEST(Models, ReadsEveryField) {
  llvm::Expected<std::vector<ModelConfig>> models =
      parseModels(table(goodModel));
  ASSERT_TRUE(bool(models)) << llvm::toString(models.takeError());
  ASSERT_EQ(models->size(), 1u);
  const ModelConfig &config = models->front();
  EXPECT_EQ(config.name, "tiny-1.5b");
  EXPECT_EQ(config.aliases, std::vector<std::string>{"tiny"});
  EXPECT_EQ(config.hidden, 96);
  EXPECT_EQ(config.heads, 6);
  EXPECT_EQ(config.headDim, 80);
  EXPECT_EQ(config.stateDim, 128);
  EXPECT_EQ(config.groups, 2);
  EXPECT_EQ(config.convWidth, 4);
  EXPECT_EQ(config.chunkSize, 64);
  EXPECT_EQ(config.mambaLayers, 3);
  EXPECT_EQ(config.layers, 5);
  EXPECT_EQ(config.zGate, ZGate::Scan);
  EXPECT_EQ(config.dtLimitLow, 0.5);
  EXPECT_TRUE(std::isinf(config.dtLimitHigh));
  EXPECT_EQ(config.stateDtype, "f32");
  EXPECT_EQ(config.dtype, "bf16");
  EXPECT_TRUE(config.dHasHeadDim);
  EXPECT_TRUE(config.isInferred("groups"));
  EXPECT_FALSE(config.isInferred("heads"));
  EXPECT_EQ(config.notes, "n");
  EXPECT_EQ(config.innerSize(), 480);
  EXPECT_EQ(config.headsPerGroup(), 3);
  EXPECT_FALSE(config.hasDefaultDtLimit());
}

TEST(Models, RejectsBrokenText) {
  EXPECT_NE(message(""), "");
  EXPECT_NE(message("[{"), "");
  expectMessage(message("{}"), "expected an array of models");
  expectMessage(message("[7]"), "expected an object at models[0]");
  EXPECT_EQ(message("[]"), "");
}

TEST(Models, RejectsBrokenFields) {
  expectMessage(messageOfEdit("\"hidden\": 96,", ""),
                "missing field at models[0].hidden");
  expectMessage(messageOfEdit("\"hidden\"", "\"expand\": 2, \"hidden\""),
                "unknown field at models[0].expand");
  for (const char *size : {"0", "-6", "1.5", "\"6\"", "null", "4294967296"})
    expectMessage(
        messageOfEdit("\"heads\": 6", std::string("\"heads\": ") + size),
        "expected a positive 32-bit integer at models[0].heads");
  expectMessage(messageOfEdit("\"scan\"", "\"fused\""),
                "expected \"norm\" or \"scan\" at models[0].z_gate");
  expectMessage(messageOfEdit("\"f32\"", "\"fp32\""),
                "expected \"bf16\", \"f16\" or \"f32\" at "
                "models[0].state_dtype");
  for (const char *limit : {"null", "[0]", "[0, 1, 2]", "[null, 1]", "[-1, 1]",
                            "[2, 1]", "[0, \"inf\"]"})
    expectMessage(messageOfEdit("[0.5, null]", limit), "models[0].dt_limit");
}

TEST(Models, RejectsBrokenModels) {
  expectMessage(messageOfEdit("\"groups\": 2", "\"groups\": 4"),
                "model \"tiny-1.5b\": expected heads to be a multiple of "
                "groups, got 6 and 4");
  expectMessage(messageOfEdit("\"layers\": 5", "\"layers\": 2"),
                "expected at most 2 mamba_layers, got 3");
  expectMessage(messageOfEdit("[\"groups\"]", "[\"ngroups\"]"),
                "unknown field \"ngroups\"");
  expectMessage(messageOfEdit("\"tiny-1.5b\"", "\"Tiny 1.5B\""),
                "expected a name of lower case letters");
  expectMessage(messageOfEdit("\"tiny-1.5b\"", "\"\""),
                "expected a name of lower case letters");
  expectMessage(messageOfEdit("[\"tiny\"]", "[\"a_b\"]"),
                "expected an alias of lower case letters");
}

TEST(Models, RejectsRepeatedNames) {
  expectMessage(messageOfEdit("[\"tiny\"]", "[\"tiny-1.5b\"]"),
                "name \"tiny-1.5b\" occurs twice");
  std::string other = edited("\"tiny-1.5b\"", "\"other\"");
  expectMessage(message("[" + std::string(goodModel) + "," + other + "]"),
                "name \"tiny\" occurs twice");
}

TEST(Models, FindsNamesAndAliases) {
  EXPECT_EQ(model("mamba2-2.7b").heads, 80);
  EXPECT_EQ(findModel("Bamba-9B-v2"), findModel("bamba-9b"));
  EXPECT_EQ(findModel("falcon-h1r-7b"), findModel("falcon-h1-7b"));
  EXPECT_EQ(findModel("bamba"), nullptr);
  EXPECT_EQ(findModel(""), nullptr);
}

TEST(Models, SuggestsTheClosestName) {
  EXPECT_EQ(closestModel("mamba-130m"), "mamba2-130m");
  EXPECT_EQ(closestModel("granite-4.0-h-tny"), "granite-4.0-h-tiny");
  EXPECT_EQ(closestModel("BAMBA-9B-V1"), "bamba-9b-v1");
  EXPECT_EQ(closestModel("xyzzy"), "");
  EXPECT_EQ(closestModel(""), "");
}

TEST(Models, InnerSizeIsNotAMultipleOfHidden) {
  // The configs of these models still say `expand: 2`.
  EXPECT_EQ(model("falcon-h1-34b").innerSize(), 4096);
  EXPECT_EQ(model("nemotron-nano-9b-v2").innerSize(), 10240);
  EXPECT_EQ(model("nemotron-3-nano-4b").innerSize(), 7680);
}

TEST(Models, NoModelClampsDt) {
  for (const ModelConfig &config : getModels())
    EXPECT_TRUE(config.hasDefaultDtLimit()) << config.name;
  // Written as a finite number that f32 cannot hold.
  EXPECT_EQ(model("nemotron-3-ultra-550b-a55b").dtLimitHigh, 1e308);
}

TEST(Models, GatesInTheScanWithoutANorm) {
  for (const ModelConfig &config : getModels()) {
    bool withoutNorm = config.name == "falcon-h1-0.5b" ||
                       config.name == "falcon-h1-tiny-90m" ||
                       config.name == "plamo-2-1b" ||
                       config.name == "plamo-2-8b";
    EXPECT_EQ(config.zGate == ZGate::Scan, withoutNorm) << config.name;
  }
}

} // namespace
