"""What tests return: results, their reports, sentences, effect sizes and citations."""
