"""What several rooms of proctor share: errors, the console, settings as commands read them, interrupts."""
