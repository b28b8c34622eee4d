"""Bank conflicts: accesses to shared memory take no more passes than they must.

What a plan stages is swizzled so that 16-bit kernels have none. Where the
result's columns are not a power of two, the tile through which it goes to its
rows has a few.
"""

import json

import pytest

from configs import SsdConfig

MAY_CONFLICT = 1.08  # passes of those that have a few
KERNELS = {"ssd_state_pass", "ssd_chunk_out"}


def config(head_dim, state_dim, dtype, **options):
    return SsdConfig(head_dim=head_dim, state_dim=state_dim, dtype=dtype, chunk_size=128, heads=1,
                     **options)


@pytest.mark.parametrize("target,config", [
    ("sm_90a", config(64, 128, "bf16")), ("sm_80", config(64, 64, "f16", z=True)),
    ("sm_120a", config(64, 256, "bf16")), ("sm_90a", config(128, 64, "bf16", D="head_dim")),
    ("sm_100a", config(128, 128, "f16", z=True)),
    ("sm_90a", config(64, 16, "bf16", initial_state=True, state_dtype="bf16")),
    ("sm_90a", config(80, 128, "bf16")),
    ("sm_90a", config(96, 32, "f16", seq_idx="packed")),
], ids=lambda value: getattr(value, "label", value))
def test_conflicts(simulator, target, config):
    simulator.compile(config.flags(), target)
    done = simulator.simulate("bundle", *simulator.save(config.inputs(1, 1, 140)),
                              "--counters=json")
    assert done.returncode == 0, done.stderr
    launches = {launch["kernel"]: launch for launch in json.loads(done.stdout)["launches"]}
    assert KERNELS <= launches.keys()
    for name in KERNELS:
        passes, ideal = (launches[name][key] for key in ("shared_passes", "shared_ideal_passes"))
        is_regular = config.head_dim & (config.head_dim - 1) == 0
        assert 0 < ideal <= passes <= (1 if is_regular else MAY_CONFLICT) * ideal, name
