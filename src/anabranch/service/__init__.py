"""The HTTP service: a front over the knowledge base, like the command line."""
