"""Classes of English words that rules about questions are written with, as patterns; pure."""

from __future__ import annotations

ASKING = r"(?:who|whom|whose|what|when|where|which|why|how)"
AUXILIARY = r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)"
PREPOSITION = r"(?:of|in|for|at|on|from|to|under|with|by)"
