"""Objects by key, and what is worked out from them; both change object by object."""
