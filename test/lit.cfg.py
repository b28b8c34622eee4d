# Configuration of lit for all .mlir tests; lit.site.cfg.py has set the paths.

import os

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "mamba"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs", "Integration", "unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.mamba_binary_dir, "test")

# A misspelt prefix or a variable of another function fails a test.
config.environment["FILECHECK_OPTS"] = (
    "-enable-var-scope --allow-unused-prefixes=false"
)

llvm_config.use_default_substitutions()
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.add_tool_substitutions(
    [
        "mamba-opt",
        ToolSubst("mamba-compile", unresolved="ignore"),
    ],
    [config.mamba_tools_dir, config.llvm_tools_dir],
)
config.substitutions.append(("%python", f'"{config.python}"'))

# `ptxas`: NVIDIA's assembler is there. Tests of PTX text do not need it.
if os.path.isfile(config.ptxas):
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", config.ptxas))
