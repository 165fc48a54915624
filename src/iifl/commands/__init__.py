"""One file per command of the command line, each with `command(options, console)`."""
