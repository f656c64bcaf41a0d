"""What dyno finds: a folder for each subject: its facts, how they are derived and shown."""
