//===- Options.cpp - The command line of mamba-compile --------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "mamba/Driver/CpuTarget.h"
#include "mamba/Pipelines/Pipelines.h"
#include "mamba/Version.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"

#include <limits>

using namespace llvm;

namespace mamba {

//===----------------------------------------------------------------------===//
// Flags. Numbers and names are strings here and parsed below, so that every
// message has one form.
//===----------------------------------------------------------------------===//

static cl::OptionCategory inputCategory("Input");
static cl::OptionCategory outputCategory("Target and output");
static cl::OptionCategory
    modelCategory("Model overrides", "Change one field of the --model each.");
static cl::OptionCategory runCategory("Running");

namespace {

struct TextFlag : cl::opt<std::string> {
  TextFlag(const char *name, const char *value, const char *help,
           cl::OptionCategory &category)
      : cl::opt<std::string>(StringRef(name), cl::value_desc(value),
                             cl::desc(help), cl::cat(category)) {}
  bool isSet() const { return getNumOccurrences() > 0; }
};

struct ModelFlag : TextFlag {
  ModelFlag(const char *name, const char *value, const char *help)
      : TextFlag(name, value, help, modelCategory) {}
};

struct BoolFlag : cl::opt<bool> {
  BoolFlag(const char *name, const char *help,
           cl::OptionCategory &category = modelCategory)
      : cl::opt<bool>(StringRef(name), cl::desc(help), cl::cat(category)) {}
};

} // namespace

static cl::list<std::string> inputFlag(cl::Positional, cl::desc("[INPUT.mlir]"),
                                       cl::cat(inputCategory));
static TextFlag modelFlag("model", "NAME",
                          "Compile for the layers of this model",
                          inputCategory);
static BoolFlag listModelsFlag("list-models", "List the models and exit",
                               inputCategory);

static TextFlag targetFlag("target", "NAME",
                           "What to compile for (default: cpu)",
                           outputCategory);
static BoolFlag listTargetsFlag("list-targets", "List the targets and exit",
                                outputCategory);
static TextFlag
    emitFlag("emit", "STAGE",
             "Stage to write (default: obj for cpu, bundle for GPUs):\n"
             "mamba, tiles, linalg: MLIR text\n"
             "llvm: MLIR text of the llvm dialect\n"
             "obj: object file and C header (cpu)\n"
             "ptx: text (GPUs)\n"
             "bundle: folder of a manifest and PTX, or for cpu a shared\n"
             "library",
             outputCategory);
static TextFlag outputFlag("o", "PATH", "Output (default: standard output)",
                           outputCategory);
static TextFlag
    mcpuFlag("mcpu", "NAME",
             "Processor of --target=cpu: a name LLVM knows, or native\n"
             "(default on x86-64: x86-64-v3)",
             outputCategory);
static TextFlag
    scheduleFlag("schedule", "NAME",
                 "How GPUs compute the chunked scan: auto, three_kernel,\n"
                 "chunk_parallel, fused or segmented (default: auto)",
                 outputCategory);
static cl::list<std::string>
    planFlag("plan", cl::value_desc("OPERATION=PLAN"),
             cl::desc("A plan instead of the chosen one, for example\n"
                      "chunk_out=#mamba.plan<three_kernel ...>"),
             cl::cat(outputCategory));
static cl::list<std::string>
    withoutFlag("without", cl::value_desc("PASS"),
                cl::desc("Leave a pass out, to see what it does (GPUs):\n"
                         "mamba-fuse, mamba-share-heads,\n"
                         "mamba-fold-causal-mask, mamba-rewrite-exp2 or\n"
                         "mamba-select-tma-layout"),
                cl::cat(outputCategory));
static cl::list<std::string>
    stridedFlag("strided", cl::value_desc("NAME,..."), cl::CommaSeparated,
                cl::desc("Arguments that may be slices of longer rows: the\n"
                         "caller chooses the strides of batch and tokens"),
                cl::cat(outputCategory));
static BoolFlag
    remarksFlag("remarks",
                "Say of every tile that gets no tensor map why (GPUs)",
                outputCategory);
static BoolFlag tf32Flag("tf32",
                         "Multiply f32 matrices by tensor cores, which round\n"
                         "factors to 11 significant bits (GPUs)",
                         outputCategory);
static BoolFlag timeFlag("time", "Report to standard error where time went",
                         outputCategory);

static ModelFlag opFlag("op", "ssd|ssu",
                        "Prefill scan or decode step (default: ssd)");
static ModelFlag headsFlag("heads", "N", "Heads, made static");
static ModelFlag groupsFlag("groups", "N",
                            "Groups of heads that share B and C, made static");
static BoolFlag staticHeadsFlag("static-heads",
                                "Make the model's heads and groups static");
static ModelFlag headDimFlag("head-dim", "N", "Channels of a head");
static ModelFlag stateDimFlag("state-dim", "N", "State size");
static ModelFlag chunkSizeFlag("chunk-size", "N", "Tokens of a chunk (ssd)");
static ModelFlag tokensFlag("tokens", "N",
                            "Tokens of a step, a dimension of x (ssu)\n"
                            "(default: one token, no dimension)");
static ModelFlag dtypeFlag("dtype", "TYPE",
                           "Type of x, B, C, z, y: bf16, f16, f32");
static ModelFlag dtDtypeFlag("dt-dtype", "TYPE", "Type of dt (default: as x)");
static ModelFlag stateDtypeFlag("state-dtype", "TYPE", "Type of states");
static BoolFlag noDFlag("no-d", "No skip connection D");
static cl::opt<cl::boolOrDefault>
    dHasHeadDimFlag("d-has-head-dim", cl::desc("D has shape [heads, head dim]"),
                    cl::cat(modelCategory));
static cl::opt<cl::boolOrDefault>
    zFlag("z", cl::desc("Gate y with z in the kernel (--z=false: do not)"),
          cl::cat(modelCategory));
static BoolFlag noDtBiasFlag("no-dt-bias", "No bias of dt");
static BoolFlag noSoftplusFlag("no-softplus", "No softplus of dt");
static ModelFlag dtLimitFlag("dt-limit", "LOW,HIGH",
                             "Clamp of dt, HIGH may be inf (ssd)");
static BoolFlag initialStateFlag("initial-state", "Take initial states (ssd)");
static BoolFlag seqIdxFlag("seq-idx", "Take sequence ids of tokens (ssd)");
static BoolFlag chunkStatesFlag("chunk-states",
                                "Return the state entering each chunk (ssd)");
static BoolFlag noFinalStateFlag("no-final-state",
                                 "Do not return the final state (ssd)");
static BoolFlag totalDecayFlag("total-decay", "Return the total decay (ssd)");
static BoolFlag stateIndicesFlag("state-indices",
                                 "Take the slot that each row reads (ssu)");
static BoolFlag dstStateIndicesFlag("dst-state-indices",
                                    "Take the slot that each row writes (ssu)");
static BoolFlag
    intermediateStatesFlag("intermediate-states",
                           "Return the state after each token (ssu)");
static BoolFlag noStateUpdateFlag("no-state-update",
                                  "Leave the state as it is (ssu)");

static BoolFlag runFlag("run", "Run on this machine's CPU", runCategory);
static cl::list<std::string>
    argFlag("arg", cl::value_desc("NAME=FILE.npy"),
            cl::desc("Array of an argument. float32 serves bf16 and f16"),
            cl::cat(runCategory));
static cl::list<std::string>
    resultFlag("result", cl::value_desc("NAME=FILE.npy"),
               cl::desc("Where to write a result. bf16 is written as float32"),
               cl::cat(runCategory));
static TextFlag functionFlag("function", "NAME",
                             "Function to run if there are several",
                             runCategory);

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static constexpr std::pair<Stage, StringLiteral> kStages[] = {
    {Stage::Mamba, "mamba"}, {Stage::Tiles, "tiles"}, {Stage::Linalg, "linalg"},
    {Stage::LLVM, "llvm"},   {Stage::Ptx, "ptx"},     {Stage::Bundle, "bundle"},
    {Stage::Object, "obj"}};

StringRef getStageName(Stage stage) {
  for (auto [candidate, name] : kStages)
    if (candidate == stage)
      return name;
  llvm_unreachable("unknown stage");
}

/// "unknown WHAT 'name'; did you mean 'near'? Expected a, b or c".
static Error makeUnknown(StringRef what, StringRef name,
                         ArrayRef<StringRef> known) {
  std::string text = ("unknown " + what + " '" + name + "'").str();
  StringRef nearest;
  unsigned best = std::max<size_t>(2, name.size() / 3) + 1;
  for (StringRef candidate : known)
    if (unsigned distance = name.edit_distance(candidate); distance < best)
      best = distance, nearest = candidate;
  if (!nearest.empty())
    text += (", did you mean '" + nearest + "'?").str();
  text += " (known: " + llvm::join(known, ", ") + ")";
  return createStringError(text);
}

static Error parseInteger(const TextFlag &flag, std::optional<int64_t> &value) {
  if (!flag.isSet())
    return Error::success();
  int64_t parsed;
  if (StringRef(flag).getAsInteger(10, parsed))
    return createStringError("expected --" + flag.ArgStr +
                             " to be an integer, got '" + flag + "'");
  value = parsed;
  return Error::success();
}

static Error parseFloatType(const TextFlag &flag, std::optional<Dtype> &value) {
  if (!flag.isSet())
    return Error::success();
  value = parseDtype(flag);
  if (value && *value != Dtype::F64 && isFloat(*value))
    return Error::success();
  return makeUnknown(("--" + flag.ArgStr).str(), flag, {"bf16", "f16", "f32"});
}

static Error parseLimits(PresetOptions &preset) {
  if (!dtLimitFlag.isSet())
    return Error::success();
  auto parse = [](StringRef text, double &value) {
    text = text.trim();
    bool isNegative = text.consume_front("-");
    bool ok = true;
    if (text == "inf")
      value = std::numeric_limits<double>::infinity();
    else
      ok = !text.getAsDouble(value);
    if (isNegative)
      value = -value;
    return ok;
  };
  auto [low, high] = StringRef(dtLimitFlag).split(',');
  std::pair<double, double> limits;
  if (!parse(low, limits.first) || !parse(high, limits.second))
    return createStringError("expected --dt-limit=LOW,HIGH, got '" +
                             dtLimitFlag + "'");
  preset.dtLimit = limits;
  return Error::success();
}

static std::optional<bool> toOptional(cl::boolOrDefault flag) {
  if (flag == cl::BOU_UNSET)
    return std::nullopt;
  return flag == cl::BOU_TRUE;
}

static Error parsePreset(PresetOptions &preset) {
  if (opFlag.isSet()) {
    if (opFlag != "ssd" && opFlag != "ssu")
      return makeUnknown("--op", opFlag, {"ssd", "ssu"});
    preset.op = opFlag == "ssd" ? PresetOp::Ssd : PresetOp::Ssu;
  }
  const std::pair<TextFlag *, std::optional<int64_t> *> sizes[] = {
      {&headsFlag, &preset.heads},         {&groupsFlag, &preset.groups},
      {&headDimFlag, &preset.headDim},     {&stateDimFlag, &preset.stateDim},
      {&chunkSizeFlag, &preset.chunkSize}, {&tokensFlag, &preset.tokens}};
  for (auto [flag, size] : sizes)
    if (Error error = parseInteger(*flag, *size))
      return error;
  const std::pair<TextFlag *, std::optional<Dtype> *> dtypes[] = {
      {&dtypeFlag, &preset.dtype},
      {&dtDtypeFlag, &preset.dtDtype},
      {&stateDtypeFlag, &preset.stateDtype}};
  for (auto [flag, dtype] : dtypes)
    if (Error error = parseFloatType(*flag, *dtype))
      return error;
  if (Error error = parseLimits(preset))
    return error;
  preset.staticHeads = staticHeadsFlag;
  preset.d = !noDFlag;
  preset.dHasHeadDim = toOptional(dHasHeadDimFlag);
  preset.z = toOptional(zFlag);
  preset.dtBias = !noDtBiasFlag;
  preset.softplus = !noSoftplusFlag;
  preset.initialState = initialStateFlag;
  preset.seqIdx = seqIdxFlag;
  preset.chunkStates = chunkStatesFlag;
  preset.finalState = !noFinalStateFlag;
  preset.totalDecay = totalDecayFlag;
  preset.stateIndices = stateIndicesFlag;
  preset.dstStateIndices = dstStateIndicesFlag;
  preset.intermediateStates = intermediateStatesFlag;
  preset.stateUpdate = !noStateUpdateFlag;
  return Error::success();
}

/// The first flag of `category`, by name, that is on the command line.
static StringRef findUsedFlag(const cl::OptionCategory &category) {
  StringRef found;
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (option->getNumOccurrences() &&
        llvm::is_contained(option->Categories, &category) &&
        (found.empty() || name < found))
      found = name;
  return found;
}

static Error parseInput(Options &options) {
  if (inputFlag.size() > 1)
    return createStringError("expected one input file, got '" + inputFlag[0] +
                             "' and '" + inputFlag[1] + "'");
  if (!inputFlag.empty())
    options.input = inputFlag[0];
  if (!options.input.empty() && modelFlag.isSet())
    return createStringError("expected an input file or --model, not both");
  if (options.input.empty() && !modelFlag.isSet())
    return createStringError("expected an input file or --model (see --help)");
  if (!modelFlag.isSet()) {
    if (StringRef flag = findUsedFlag(modelCategory); !flag.empty())
      return createStringError("--" + flag + " needs --model");
    return Error::success();
  }
  options.model = findModel(modelFlag);
  if (!options.model) {
    std::string nearest = closestModel(modelFlag);
    return createStringError(
        "unknown model '" + modelFlag + "'" +
        (nearest.empty() ? "" : ", did you mean '" + nearest + "'?") +
        " (--list-models lists them)");
  }
  if (Error error = parsePreset(options.preset))
    return error;
  return checkPreset(*options.model, options.preset);
}

static Error parseRun(Options &options) {
  if (!runFlag) {
    if (StringRef flag = findUsedFlag(runCategory); !flag.empty())
      return createStringError("--" + flag + " needs --run");
    return Error::success();
  }
  options.action = Options::Action::Run;
  options.function = functionFlag;
  for (TextFlag *flag : {&emitFlag, &outputFlag, &mcpuFlag, &scheduleFlag})
    if (flag->isSet())
      return createStringError(Twine(flag == &outputFlag ? "-" : "--") +
                               flag->ArgStr + " contradicts --run");
  if (!planFlag.empty() || tf32Flag || !withoutFlag.empty())
    return createStringError(Twine(tf32Flag           ? "--tf32"
                                   : planFlag.empty() ? "--without"
                                                      : "--plan") +
                             " contradicts --run");
  if (!stridedFlag.empty())
    return createStringError("--strided contradicts --run");
  if (options.target->isGpu())
    return createStringError("--run runs on the cpu, got --target=" +
                             options.target->name);
  for (StringRef text : argFlag) {
    Expected<NamedFile> file = NamedFile::parse(text, "--arg");
    if (!file)
      return file.takeError();
    options.arguments.push_back(std::move(*file));
  }
  for (StringRef text : resultFlag) {
    Expected<NamedFile> file = NamedFile::parse(text, "--result");
    if (!file)
      return file.takeError();
    options.results.push_back(std::move(*file));
  }
  if (options.results.empty())
    return createStringError("expected at least one --result=NAME=FILE");
  return Error::success();
}

static Error parseStage(Options &options) {
  bool isGpu = options.target->isGpu();
  options.stage = isGpu ? Stage::Bundle : Stage::Object;
  if (emitFlag.isSet()) {
    SmallVector<StringRef> names;
    const auto *it = llvm::find_if(
        kStages, [&](const auto &stage) { return stage.second == emitFlag; });
    if (it == std::end(kStages)) {
      for (auto [stage, name] : kStages)
        names.push_back(name);
      return makeUnknown("--emit stage", emitFlag, names);
    }
    options.stage = it->first;
  }
  StringRef name = getStageName(options.stage);
  if (isGpu && options.stage == Stage::Object)
    return createStringError("--emit=" + name + " needs --target=cpu, got " +
                             options.target->name);
  if (!isGpu && options.stage == Stage::Ptx)
    return createStringError("--emit=" + name +
                             " needs the --target of a GPU (--list-targets "
                             "lists them)");

  options.output = outputFlag.isSet() ? std::string(outputFlag) : "-";
  if (options.stage == Stage::Bundle && options.output == "-")
    return createStringError("--emit=bundle needs a folder: -o PATH");
  if (options.stage == Stage::Object &&
      !StringRef(options.output).ends_with(".o"))
    return createStringError("--emit=obj needs a name that ends in .o: -o "
                             "PREFIX.o (the header becomes PREFIX.h)");
  if (scheduleFlag.isSet()) {
    if (!isGpu)
      return createStringError("--schedule needs the --target of a GPU "
                               "(--list-targets lists them)");
    options.schedule = scheduleFlag;
    SmallVector<StringRef> names = {"auto", "three_kernel", "chunk_parallel",
                                    "fused", "segmented"};
    if (!llvm::is_contained(names, options.schedule))
      return makeUnknown("--schedule", options.schedule, names);
  }
  if (!planFlag.empty() && !isGpu)
    return createStringError("--plan needs the --target of a GPU "
                             "(--list-targets lists them)");
  if (!withoutFlag.empty() && !isGpu)
    return createStringError("--without needs the --target of a GPU "
                             "(--list-targets lists them)");
  for (StringRef pass : withoutFlag)
    if (!llvm::is_contained(getOptionalPasses(), pass))
      return makeUnknown("--without", pass, getOptionalPasses());
  if (remarksFlag && !isGpu)
    return createStringError("--remarks needs the --target of a GPU "
                             "(--list-targets lists them)");
  if (tf32Flag && !isGpu)
    return createStringError("--tf32 needs the --target of a GPU "
                             "(--list-targets lists them)");
  options.tf32 = tf32Flag;
  options.remarks = remarksFlag;
  options.without.assign(withoutFlag.begin(), withoutFlag.end());
  options.strided.assign(stridedFlag.begin(), stridedFlag.end());
  options.plans.assign(planFlag.begin(), planFlag.end());
  if (mcpuFlag.isSet() && (isGpu || (options.stage != Stage::Object &&
                                     options.stage != Stage::Bundle)))
    return createStringError("--mcpu needs --target=cpu and --emit=obj or "
                             "--emit=bundle");
  options.cpu =
      mcpuFlag.isSet() ? std::string(mcpuFlag) : getDefaultCpu().str();
  return Error::success();
}

/// What cl::ParseCommandLineOptions printed, in this tool's form.
static std::string cleanMessage(StringRef text, StringRef program) {
  text = text.split('\n').first.trim();
  text.consume_front(program);
  text.consume_front(": ");
  if (text.consume_front("Unknown command line argument "))
    text = text.split(".  Try").first;
  else
    return text.str();
  return ("unknown flag " + text + " (see --help)").str();
}

Expected<Options> parseOptions(int argc, char **argv) {
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  cl::HideUnrelatedOptions(
      {&inputCategory, &outputCategory, &modelCategory, &runCategory});
  cl::SetVersionPrinter([](raw_ostream &os) {
    os << "mamba-compile " << MAMBA_VERSION_STRING << " (LLVM "
       << LLVM_VERSION_STRING << ")\n";
  });
  std::string messages;
  raw_string_ostream messageStream(messages);
  if (!cl::ParseCommandLineOptions(
          argc, argv,
          "Ahead-of-time compiler for the Mamba-2 kernels of a model or of an "
          "MLIR file\n",
          &messageStream, nullptr, nullptr, /*LongOptionsUseDoubleDash=*/true))
    return createStringError(
        cleanMessage(messages, sys::path::filename(argv[0])));

  Options options;
  options.time = timeFlag;
  if (listModelsFlag || listTargetsFlag) {
    options.action = listModelsFlag ? Options::Action::ListModels
                                    : Options::Action::ListTargets;
    return options;
  }
  Expected<const Target &> target =
      lookupTarget(targetFlag.isSet() ? StringRef(targetFlag) : "cpu");
  if (!target)
    return target.takeError();
  options.target = &*target;
  if (Error error = parseInput(options))
    return std::move(error);
  if (Error error = parseRun(options))
    return std::move(error);
  if (options.action != Options::Action::Run)
    if (Error error = parseStage(options))
      return std::move(error);
  return options;
}

} // namespace mamba
