"""Runs a command that must fail: exit code 1, nothing on standard output.

Prints what it wrote to standard error.
"""

import subprocess
import sys

done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
if done.returncode != 1:
    sys.exit(f"expected exit code 1, got {done.returncode}: {done.stderr}")
if done.stdout:
    sys.exit(f"expected no standard output, got {done.stdout!r}")
print(done.stderr, end="")
