"""Sums of h over pairs, each in the fastest way that the predictions allow."""
