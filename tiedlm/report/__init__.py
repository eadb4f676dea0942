"""What people read of results: figures -> sections and charts -> formats -> commands."""
