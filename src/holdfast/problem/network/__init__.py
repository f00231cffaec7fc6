"""Elements of any physical domain, assembled into one system."""
