"""What a config file may say, and what is wrong with one."""
