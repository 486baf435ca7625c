"""Jobs whose loading is too much work, with lines that are known to be costly."""
