"""``anabranch eval``: a labelled data set run through the real path, and what came of it."""
