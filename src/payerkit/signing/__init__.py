"""What a person who signs sees and hands over."""
