"""Documentation that is true: blocks run, commands, options, names and links exist."""
