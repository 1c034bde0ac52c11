"""Design files a user starts from."""
