"""Conversations: their files, and the chat templates that write them as one text."""
