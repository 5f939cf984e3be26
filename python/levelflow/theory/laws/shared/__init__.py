"""What several laws share, or what is too long for the file of one."""
