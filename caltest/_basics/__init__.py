"""What everything else stands on: arrays and files of users, compiled loops, threads, progress, errors of numbers."""
