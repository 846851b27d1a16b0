"""What every room stands on: checks of arguments, files that are whole or not at all, interrupts, tables of fields."""
