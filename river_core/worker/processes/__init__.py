"""The process pool: tasks run in child processes, which hold no connection of River's.

    worker process --- fork stage --- children

The *fork stage* is forked from the worker's process before that has any thread or connection, has one
thread for all of its life, and forks children when it is asked to. Each child has a *keeper*, a thread of the
worker's process, which gives it jobs over a socket, several at once where they are short, and takes their
ends back. The *board* is memory that both share: there a child writes which job it starts, so that whatever
happens to it the keeper knows exactly which job that befell.
"""
