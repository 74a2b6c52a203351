"""Running a program on a backend and telling whether a device error happens (needs torch)."""
