//===- Models.cpp - Mamba-2 layer sizes of published models ---------------===//

#include "mamba/Models/Models.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

using namespace llvm;

namespace mamba {
namespace {

const char modelsText[] =
#include "Models.inc"
    ;

constexpr StringLiteral fieldNames[] = {
    "name",      "aliases", "hidden",        "heads",       "head_dim",
    "state_dim", "groups",  "conv_width",    "chunk_size",  "mamba_layers",
    "layers",    "z_gate",  "dt_limit",      "state_dtype", "dtype",
    "inferred",  "notes",   "d_has_head_dim"};

/// A positive 32-bit integer, so that the product of two cannot overflow.
struct Size {
  int64_t &value;
};

bool fromJSON(const json::Value &json, Size size, json::Path path) {
  std::optional<int64_t> value = json.getAsInteger();
  if (!value || *value <= 0 || *value > std::numeric_limits<int32_t>::max()) {
    path.report("expected a positive 32-bit integer");
    return false;
  }
  size.value = *value;
  return true;
}

bool fromJSON(const json::Value &json, ZGate &gate, json::Path path) {
  std::optional<StringRef> text = json.getAsString();
  if (text != "norm" && text != "scan") {
    path.report("expected \"norm\" or \"scan\"");
    return false;
  }
  gate = text == "scan" ? ZGate::Scan : ZGate::Norm;
  return true;
}

/// The dtype names the compiler driver takes.
struct Dtype {
  std::string &value;
};

bool fromJSON(const json::Value &json, Dtype dtype, json::Path path) {
  std::optional<StringRef> text = json.getAsString();
  if (text != "bf16" && text != "f16" && text != "f32") {
    path.report("expected \"bf16\", \"f16\" or \"f32\"");
    return false;
  }
  dtype.value = text->str();
  return true;
}

/// JSON has no infinity: null stands for +inf as an upper limit.
struct DtLimit {
  double &low;
  double &high;
};

bool fromJSON(const json::Value &json, DtLimit limit, json::Path path) {
  const json::Array *pair = json.getAsArray();
  if (!pair || pair->size() != 2) {
    path.report("expected an array [low, high]");
    return false;
  }
  std::optional<double> low = (*pair)[0].getAsNumber();
  std::optional<double> high = (*pair)[1].getAsNumber();
  if ((*pair)[1].getAsNull())
    high = std::numeric_limits<double>::infinity();
  if (!low || !high) {
    path.report("expected [number, number or null]");
    return false;
  }
  if (!(*low >= 0.0 && *low <= *high)) {
    path.report("expected 0 <= low <= high");
    return false;
  }
  limit.low = *low;
  limit.high = *high;
  return true;
}

/// Maps mandatory fields of an object onto references and wrappers of them.
class FieldReader {
public:
  FieldReader(const json::Object &object, json::Path path)
      : object(object), path(path) {}

  template <typename T> bool read(StringLiteral field, T &&out) {
    const json::Value *value = object.get(field);
    if (!value) {
      path.field(field).report("missing field");
      return false;
    }
    return fromJSON(*value, std::forward<T>(out), path.field(field));
  }

private:
  const json::Object &object;
  json::Path path;
};

bool fromJSON(const json::Value &json, ModelConfig &config, json::Path path) {
  using json::fromJSON;
  const json::Object *object = json.getAsObject();
  if (!object) {
    path.report("expected an object");
    return false;
  }
  FieldReader reader(*object, path);
  if (!reader.read("name", config.name) ||
      !reader.read("aliases", config.aliases) ||
      !reader.read("hidden", Size{config.hidden}) ||
      !reader.read("heads", Size{config.heads}) ||
      !reader.read("head_dim", Size{config.headDim}) ||
      !reader.read("state_dim", Size{config.stateDim}) ||
      !reader.read("groups", Size{config.groups}) ||
      !reader.read("conv_width", Size{config.convWidth}) ||
      !reader.read("chunk_size", Size{config.chunkSize}) ||
      !reader.read("mamba_layers", Size{config.mambaLayers}) ||
      !reader.read("layers", Size{config.layers}) ||
      !reader.read("z_gate", config.zGate) ||
      !reader.read("dt_limit",
                   DtLimit{config.dtLimitLow, config.dtLimitHigh}) ||
      !reader.read("state_dtype", Dtype{config.stateDtype}) ||
      !reader.read("dtype", Dtype{config.dtype}) ||
      !reader.read("d_has_head_dim", config.dHasHeadDim) ||
      !reader.read("inferred", config.inferred) ||
      !reader.read("notes", config.notes))
    return false;
  for (const auto &entry : *object) {
    if (!is_contained(fieldNames, StringRef(entry.first))) {
      path.field(entry.first).report("unknown field");
      return false;
    }
  }
  return true;
}

/// What a single field cannot show.
Error checkModel(const ModelConfig &config) {
  auto fail = [&](const Twine &message) {
    return createStringError("model \"" + Twine(config.name) +
                             "\": " + message);
  };
  auto isNameChar = [](char c) {
    return isDigit(c) || (c >= 'a' && c <= 'z') || c == '.' || c == '-';
  };
  auto isName = [&](StringRef name) {
    return !name.empty() && all_of(name, isNameChar);
  };
  if (!isName(config.name))
    return fail("expected a name of lower case letters, digits, '.' and '-'");
  for (const std::string &alias : config.aliases)
    if (!isName(alias))
      return fail("expected an alias of lower case letters, digits, '.' and "
                  "'-', got \"" +
                  Twine(alias) + "\"");
  if (config.heads % config.groups != 0)
    return fail("expected heads to be a multiple of groups, got " +
                Twine(config.heads) + " and " + Twine(config.groups));
  if (config.mambaLayers > config.layers)
    return fail("expected at most " + Twine(config.layers) +
                " mamba_layers, got " + Twine(config.mambaLayers));
  for (const std::string &field : config.inferred)
    if (!is_contained(fieldNames, StringRef(field)))
      return fail("\"inferred\" lists the unknown field \"" + Twine(field) +
                  "\"");
  return Error::success();
}

std::vector<ModelConfig> loadEmbeddedModels() {
  Expected<std::vector<ModelConfig>> models = parseModels(getModelsJSON());
  if (models)
    return std::move(*models);
  logAllUnhandledErrors(models.takeError(), errs(),
                        "embedded model table is malformed: ");
  return {};
}

} // namespace

bool ModelConfig::hasDefaultDtLimit() const {
  return dtLimitLow == 0.0 && dtLimitHigh > std::numeric_limits<float>::max();
}

bool ModelConfig::isInferred(StringRef field) const {
  return is_contained(inferred, field);
}

Expected<std::vector<ModelConfig>> parseModels(StringRef json) {
  Expected<json::Value> value = json::parse(json);
  if (!value)
    return value.takeError();
  const json::Array *array = value->getAsArray();
  if (!array)
    return createStringError("expected an array of models");

  std::vector<ModelConfig> models(array->size());
  StringSet<> seen;
  json::Path::Root root("models");
  json::Path path(root);
  for (auto [index, model] : enumerate(models)) {
    if (!fromJSON((*array)[index], model, path.index(index)))
      return root.getError();
    if (Error error = checkModel(model))
      return error;
    if (!seen.insert(model.name).second)
      return createStringError("name \"" + Twine(model.name) +
                               "\" occurs twice");
    for (const std::string &alias : model.aliases)
      if (!seen.insert(alias).second)
        return createStringError("name \"" + Twine(alias) + "\" occurs twice");
  }
  return models;
}

Error validateModels(StringRef json) { return parseModels(json).takeError(); }

StringRef getModelsJSON() {
  return StringRef(modelsText, sizeof(modelsText) - 1);
}

ArrayRef<ModelConfig> getModels() {
  static const std::vector<ModelConfig> models = loadEmbeddedModels();
  return models;
}

const ModelConfig *findModel(StringRef nameOrAlias) {
  auto matches = [&](StringRef name) {
    return name.equals_insensitive(nameOrAlias);
  };
  const auto *it = find_if(getModels(), [&](const ModelConfig &model) {
    return matches(model.name) || any_of(model.aliases, matches);
  });
  return it == getModels().end() ? nullptr : it;
}

std::string closestModel(StringRef name) {
  // Beyond a third of the letters a suggestion is more likely noise than help.
  unsigned best = std::max<size_t>(2, name.size() / 3) + 1;
  StringRef closest;
  auto consider = [&](StringRef candidate) {
    unsigned distance = name.edit_distance_insensitive(
        candidate, /*AllowReplacements=*/true, /*MaxEditDistance=*/best);
    if (distance < best) {
      best = distance;
      closest = candidate;
    }
  };
  for (const ModelConfig &model : getModels()) {
    consider(model.name);
    for (const std::string &alias : model.aliases)
      consider(alias);
  }
  return closest.str();
}

} // namespace mamba
