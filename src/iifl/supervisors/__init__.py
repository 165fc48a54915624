"""Who helps: scripted people, trained experts, people."""
