
words
2red