"""Files of the command line: predictions, outcomes and answers of language models."""
