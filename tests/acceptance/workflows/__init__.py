"""Random workflows under random kills: what they are, how they run, and what must be true in the end."""
