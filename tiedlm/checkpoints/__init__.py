"""Checkpoints from elsewhere, and live modules: are the input and the output embedding one matrix?"""
