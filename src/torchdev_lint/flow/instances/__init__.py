"""Classes and objects of the program."""
