"""What results ask about data that look as if they had been read wrongly."""
