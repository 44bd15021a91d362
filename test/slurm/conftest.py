def pytest_collection_modifyitems(items):
    """Those that wait most come first, so that they wait side by side."""
    items.sort(key=lambda item: item.path.name != "policy_test.py")
