"""What users give: arrays, tables, and distributions of other libraries, as families of predictions."""
