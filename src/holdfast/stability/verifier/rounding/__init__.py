"""What doubles add to a step that is followed backwards: each operation by the slope of what the step ends in."""
