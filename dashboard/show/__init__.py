"""The pages: each answers its question at first sight, with the age of every value."""
