def pytest_configure(config):
    config.addinivalue_line("markers", "long: runs in make test-long only")
