"""Start the command, or one of its worker processes, in the file that ``make binary`` makes."""

from multiprocessing import freeze_support

if __name__ == "__main__":
    freeze_support()
    from kafkaspec.__main__ import main

    main()
