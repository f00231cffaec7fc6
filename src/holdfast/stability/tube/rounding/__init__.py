"""What doubles add to the deviations in one step, bounded over cells: errors added up, with symbols, or by slopes."""
