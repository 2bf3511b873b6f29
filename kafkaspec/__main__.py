"""``python -m kafkaspec``: the command."""

from kafkaspec.cli.main import main

if __name__ == "__main__":
    main()
