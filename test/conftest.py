"""Options of all Python tests."""

from collections import Counter

QUICK_SHARE = 8  # --quick runs one in so many cases of a numerics test


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true",
                     help=f"run one in {QUICK_SHARE} cases of the numerics tests")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--quick"):
        return
    kept, left_out, seen = [], [], Counter()
    for item in items:
        test = item.location[0], getattr(item, "originalname", item.name)
        seen[test] += 1
        is_case = hasattr(item, "callspec") and "/Integration/CPU/" in item.path.as_posix()
        (left_out if is_case and seen[test] % QUICK_SHARE != 1 else kept).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
