"""What stub files and command lines say."""
