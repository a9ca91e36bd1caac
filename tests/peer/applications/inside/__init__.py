"""What runs in the application's own interpreter: its worker, and the process that sends its tasks."""
