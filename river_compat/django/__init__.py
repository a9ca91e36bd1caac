"""River as an application of Django: add "river_compat.django" to INSTALLED_APPS.

It brings River's tables as migrations, the command `manage.py river`, and the functions that SQLite needs.
"""
