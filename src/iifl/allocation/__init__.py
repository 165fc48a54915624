"""Who needs help, how unsure is too unsure, and who goes to whom: pure functions over the fleet."""
