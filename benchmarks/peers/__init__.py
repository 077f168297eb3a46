"""Other retrieval libraries on the same passages, vectors and questions. Start with ``run.py``."""
