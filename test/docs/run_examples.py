"""Runs and parses the examples of README.md and docs/.

    python run_examples.py [FILE.md ...]

* A block that starts with ```sh run is run by bash from the root of the
  repository, with .venv/bin first on PATH; it must exit with 0. If a block
  ```text output follows, each of its lines must appear in what was printed, in
  this order ("..." stands for any text).
* A block ```mlir that has no ".." in it is complete: mamba-opt must parse and
  verify it. Values that a block of operations uses but does not define become
  arguments of a function around it.

Prints a line for every example and exits with 1 if one fails. MAMBA_OPT names
the tool; the default is build/bin/mamba-opt of this checkout.
"""

from dataclasses import dataclass
import os
from pathlib import Path
import re
import subprocess
import sys

REPOSITORY = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 600
FENCE = re.compile(r"^( *)```(.*)$")
TYPE = r"(?:tensor|memref)<[^<>]*(?:<[^<>]*>[^<>]*)*>"
TYPED_VALUES = re.compile(rf"(%\w+(?:, %\w+)*) : ({TYPE}(?:(?:, | to ){TYPE})*)")
DEFINED_VALUES = re.compile(r"^\s*((?:%\w+(?:, )?)+) = ", re.MULTILINE)
TOP_LEVEL = re.compile(r"^(module|func\.|gpu\.(module|binary))", re.MULTILINE)


class ExampleError(AssertionError):
    """An example does not do what it should."""


@dataclass
class Example:
    """A block; `output` holds the lines that running it must print."""

    file: Path
    line: int
    info: str
    text: str
    output: tuple = ()

    @property
    def name(self):
        return f"{self.file.relative_to(REPOSITORY)}:{self.line}"


def read_blocks(file):
    """All fenced blocks of a file, in order."""
    blocks, opened = [], None
    for number, line in enumerate(file.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if opened is not None and fence and not fence.group(2):
            blocks.append(Example(file, opened[0], opened[2], "\n".join(opened[3]) + "\n"))
            opened = None
        elif opened is not None:
            opened[3].append(line[len(opened[1]):] if line.startswith(opened[1]) else line)
        elif fence:
            opened = (number, fence.group(1), fence.group(2).strip(), [])
    if opened is not None:
        raise ExampleError(f"{file}:{opened[0]}: the block has no end")
    return blocks


def read_examples(file):
    """The blocks to run or to parse, each with the output it must print."""
    examples, previous = [], None
    for block in read_blocks(file):
        if block.info == "sh run" or (block.info == "mlir" and ".." not in block.text):
            examples.append(block)
        elif block.info == "text output":
            if previous is None or previous.info != "sh run":
                raise ExampleError(f"{block.name}: no command before this output")
            previous.output = tuple(block.text.splitlines())
        previous = block
    return examples


def all_examples():
    """The examples of README.md and of every page in docs/."""
    files = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    return [example for file in files for example in read_examples(file)]


def check_output(lines, printed):
    """Raises unless `lines` appear in `printed` in order."""
    position = 0
    for line in lines:
        if line.strip() in ("", "..."):
            continue
        pattern = ".*?".join(re.escape(" ".join(part.split())) for part in line.split("..."))
        found = re.compile(pattern).search(printed, position)
        if not found:
            raise ExampleError(f"did not print: {line.strip()}\nprinted:\n{printed}")
        position = found.end()


def run_shell(example):
    environment = dict(os.environ)
    environment["PATH"] = f"{REPOSITORY / '.venv/bin'}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", example.text], cwd=REPOSITORY,
                          env=environment, stdin=subprocess.DEVNULL, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=TIMEOUT_SECONDS)
    if done.returncode != 0:
        raise ExampleError(f"exit code {done.returncode}\n{done.stdout}")
    check_output(example.output, "\n".join(" ".join(line.split())
                                           for line in done.stdout.splitlines()))


def complete_module(text):
    """A module around a block: an attribute, operations, or a module already."""
    if text.lstrip().startswith("#"):
        return f"module attributes {{mamba.example = {text.strip()}}} {{}}\n"
    if TOP_LEVEL.search(text):
        return text
    defined = {value for values in DEFINED_VALUES.findall(text)
               for value in values.split(", ")}
    arguments = {}
    for values, types in TYPED_VALUES.findall(text):
        pairs = zip(values.split(", "), re.findall(TYPE, types))
        arguments.update((value, kind) for value, kind in pairs if value not in defined)
    list_text = ", ".join(f"{value}: {kind}" for value, kind in arguments.items())
    return f"func.func @example({list_text}) {{\n{text}  return\n}}\n"


def parse_mlir(example):
    tool = os.environ.get("MAMBA_OPT", REPOSITORY / "build/bin/mamba-opt")
    done = subprocess.run([str(tool), "-o", os.devnull, "-"], text=True, check=False,
                          input=complete_module(example.text), capture_output=True,
                          timeout=TIMEOUT_SECONDS)
    if done.returncode != 0:
        raise ExampleError(f"not parsed\n{done.stderr}\n{complete_module(example.text)}")


def run_example(example):
    """Raises ExampleError unless the example works."""
    try:
        (parse_mlir if example.info == "mlir" else run_shell)(example)
    except ExampleError as error:
        raise ExampleError(f"{example.name}: {error}") from None


def main(files):
    examples = ([example for file in files for example in read_examples(Path(file).resolve())]
                if files else all_examples())
    failures = 0
    for example in examples:
        try:
            run_example(example)
            print(f"ok      {example.name}", flush=True)
        except ExampleError as error:
            failures += 1
            print(f"FAILED  {error}", flush=True)
    print(f"{len(examples) - failures} of {len(examples)} examples work")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
