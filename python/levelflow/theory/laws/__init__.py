"""What is proven of each law: where it rests, when it is stable, and its equations of motion; one file per law."""
