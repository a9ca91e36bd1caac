"""People, a book, and what they did with it, with the numbers that `bookwyrm.toml` calls the tasks with."""

from bookwyrm import models

mouse, nutria = (
    models.User.objects.create_user(
        name, f"{name}@localhost", "password", local=True, localname=name, name=name
    )
    for name in ("mouse", "nutria")
)
models.User.objects.create_user(
    "rat",
    "rat@localhost",
    "password",
    local=False,
    remote_id="https://localhost/user/rat",
    inbox="https://localhost/user/rat/inbox",
    outbox="https://localhost/user/rat/outbox",
)
site = models.SiteSettings.get()
work = models.Work.objects.create(title="A Work")
edition = models.Edition.objects.create(title="An Edition", parent_work=work)
status = models.Status.objects.create(content="hello", user=mouse)
models.Boost.objects.create(boosted_status=status, user=nutria)
models.Quotation.objects.create(quote="words", content="so true", user=mouse, book=edition)
models.List.objects.create(name="A List", user=mouse)
models.FederatedServer.objects.create(server_name="localhost")
models.Connector.objects.create(
    identifier="localhost",
    connector_file="bookwyrm_connector",
    base_url="https://localhost",
    books_url="https://localhost/book",
    covers_url="https://localhost/images",
)
models.BookwyrmExportJob.objects.create(user=mouse)
job = models.ImportJob.objects.create(user=mouse, mappings={}, source="a file")
models.ImportItem.objects.create(job=job, index=0, data={}, normalized_data={"title": "A Book"})
