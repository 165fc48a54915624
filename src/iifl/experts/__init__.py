"""Expert supervisors: how they are trained, and the trained weights that ship."""
