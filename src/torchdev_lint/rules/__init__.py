"""One file per rule; `registry` lists them."""
