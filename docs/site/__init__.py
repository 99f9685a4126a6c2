"""How the documentation becomes a site."""
