"""The vocabulary: pure values and rules that every stage speaks."""
