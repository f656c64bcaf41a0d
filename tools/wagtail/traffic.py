"""Pages of a Wagtail site, and ROUNDS of what its visitors and editors do; for `manage.py shell`.

Nothing here is dbdyno's own: the site's test client asks for pages as browsers would.
"""

import os
import random

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.test import Client
from home.models import HomePage
from wagtail.models import Page

SECTIONS, STORIES = 30, int(os.environ["STORIES"])
WORDS = ("database", "garden", "story", "section", "about", "nothing")
draw = random.Random(1)
settings.ALLOWED_HOSTS = ["*"]
users = get_user_model()
editor = users.objects.filter(username="editor").first() or users.objects.create_superuser(
    "editor", "editor@example.com", "secret"
)


def fill() -> None:
    """Makes the pages, and the index of their search."""
    home = HomePage.objects.first()
    for a in range(SECTIONS):
        section = home.add_child(instance=HomePage(title=f"Section {a}", slug=f"section-{a}"))
        stories = Page.objects.bulk_create(story(section, a, b) for b in range(STORIES))
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO home_homepage (page_ptr_id) VALUES (%s)",
                [(each.pk,) for each in stories],
            )
        Page.objects.filter(pk=section.pk).update(numchild=STORIES)
    call_command("update_index", verbosity=0)


def story(section: Page, a: int, b: int) -> Page:
    """A page below a section, as `add_child` would make it, which takes 35 ms."""
    title, slug = f"Story {a} {b} about databases and gardens", f"story-{a}-{b}"
    return Page(
        path=Page._get_path(section.path, section.depth + 1, b + 1),
        depth=section.depth + 1,
        title=title,
        draft_title=title,
        slug=slug,
        url_path=f"{section.url_path}{slug}/",
        search_description="words " * draw.randint(3, 30),
        content_type=section.content_type,
        locale=section.locale,
        first_published_at=section.first_published_at,
        last_published_at=section.last_published_at,
    )


def traffic(rounds: int) -> None:
    """A visitor reads and searches; an editor lists, edits, and publishes every third page."""
    visitor, admin = Client(), Client()
    admin.force_login(editor)
    pages = list(HomePage.objects.all())
    for number in range(rounds):
        page = draw.choice(pages)
        visitor.get(page.url or "/")
        visitor.get("/search/", {"query": draw.choice(WORDS)})
        for path in (
            "",
            f"pages/{page.get_parent().id}/",
            f"pages/{page.id}/edit/",
            f"pages/{page.id}/history/",
            "reports/site-history/",
            "users/",
        ):
            admin.get(f"/admin/{path}")
        admin.get("/admin/pages/search/", {"q": draw.choice(WORDS)})
        if number % 3 == 0:
            page = HomePage.objects.get(pk=page.pk)
            page.title += " x"
            page.save_revision(user=editor).publish()


if Page.objects.count() < SECTIONS * STORIES:
    fill()
traffic(int(os.environ["ROUNDS"]))
