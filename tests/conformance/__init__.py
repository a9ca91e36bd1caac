"""Every driver keeps to River's protocol."""
