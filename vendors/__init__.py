"""What hardware exists: models, loader, and the catalog itself as data."""
