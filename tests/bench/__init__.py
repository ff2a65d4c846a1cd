"""What the product promises about speed, measured: `python -m tests.bench [name …] [--json FILE]`."""
