"""Values: what may be known of a thing, and when two devices certainly differ."""
