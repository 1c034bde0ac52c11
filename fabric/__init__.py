"""What connects to what."""
