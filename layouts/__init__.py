"""Where things stand and how far apart."""
