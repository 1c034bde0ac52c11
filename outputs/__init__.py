"""What people and programs take away."""
