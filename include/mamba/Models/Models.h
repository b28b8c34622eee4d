//===- Models.h - Mamba-2 layer sizes of published models -------*- C++ -*-===//
//
// The table behind `--model=NAME`: the sizes that decide which scan and decode
// kernels a published model needs. It is written in lib/Models/models.json and
// embedded in the library when it is built.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_MODELS_MODELS_H
#define MAMBA_MODELS_MODELS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mamba {

/// Where `y * silu(z)` happens.
enum class ZGate {
  /// In a gated norm after the scan, so the scan takes no `z`.
  Norm,
  /// In the scan, because the model has no norm after it.
  Scan,
};

/// The Mamba-2 layer of one model. All its Mamba-2 layers have the same sizes.
struct ModelConfig {
  /// Lower case, digits, dots and dashes.
  std::string name;
  /// Further names of the same sizes.
  std::vector<std::string> aliases;

  /// Width of the residual stream. It does not determine `innerSize()`.
  int64_t hidden = 0;
  /// H, P, N, G: heads, channels of a head, state size, groups of heads that
  /// share B and C. H is a multiple of G.
  int64_t heads = 0;
  int64_t headDim = 0;
  int64_t stateDim = 0;
  int64_t groups = 0;
  /// Taps of the causal convolution before the scan.
  int64_t convWidth = 0;
  /// Tokens of a chunk in the reference code of the model. It decides rounding
  /// and speed and is no part of the weights.
  int64_t chunkSize = 0;
  /// Layers that hold a Mamba-2 mixer, and all layers.
  int64_t mambaLayers = 0;
  int64_t layers = 0;

  ZGate zGate = ZGate::Norm;
  /// Clamp of the step size after softplus. JSON `null` reads as infinity.
  double dtLimitLow = 0.0;
  double dtLimitHigh = 0.0;

  /// Element type of the cached state, and of weights and activations: one of
  /// "bf16", "f16", "f32".
  std::string stateDtype;
  std::string dtype;
  /// True if D has shape (H, P), false if (H).
  bool dHasHeadDim = false;

  /// JSON names of the fields that were not read in a published file but
  /// derived, assumed, or taken from a sibling model.
  std::vector<std::string> inferred;
  /// One or two sentences in English, or empty.
  std::string notes;

  /// Channels that enter the scan, H * P.
  int64_t innerSize() const { return heads * headDim; }
  /// Heads that share one B and C. Any integer, not only powers of two.
  int64_t headsPerGroup() const { return heads / groups; }
  /// True if the f32 clamp is (0, +inf), however large a finite number stands
  /// for infinity in the model's config.
  bool hasDefaultDtLimit() const;
  /// True if `field` (a JSON name such as "head_dim") is listed as inferred.
  bool isInferred(llvm::StringRef field) const;
};

/// Parses a table: a JSON array with one object per model that has exactly the
/// fields of models.json. Fails with one message if the text is no JSON, a
/// field is missing, unknown or of the wrong kind, a size is not positive,
/// `heads` is no multiple of `groups`, or a name or alias occurs twice.
llvm::Expected<std::vector<ModelConfig>> parseModels(llvm::StringRef json);

/// `parseModels` without its result.
llvm::Error validateModels(llvm::StringRef json);

/// The embedded text. A unit test validates it, so a build whose tests pass
/// holds a good table.
llvm::StringRef getModelsJSON();

/// All embedded models in file order, parsed at the first call. If the embedded
/// text is malformed, the list is empty and the first call says why on stderr.
llvm::ArrayRef<ModelConfig> getModels();

/// The embedded model with this name or alias in any letter case, or null.
const ModelConfig *findModel(llvm::StringRef nameOrAlias);

/// The name or alias most like `name`, for "did you mean". Empty if nothing
/// comes near.
std::string closestModel(llvm::StringRef name);

} // namespace mamba

#endif // MAMBA_MODELS_MODELS_H
