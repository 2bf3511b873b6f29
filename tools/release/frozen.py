"""What the single file of ``make binary`` starts: the command, and its own worker processes."""

from multiprocessing import freeze_support

if __name__ == "__main__":
    freeze_support()
    from kafkaspec.__main__ import main

    main()
