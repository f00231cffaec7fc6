"""A page that runs what it shows: the kernel as JavaScript, sliders, and curves that follow them."""
