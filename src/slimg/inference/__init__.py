"""What a fitted model is asked: scores, new nodes, tables of predictions, its file."""
