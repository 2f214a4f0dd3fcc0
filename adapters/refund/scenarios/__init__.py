"""Scripted conversations with the refund agent, one file each."""
