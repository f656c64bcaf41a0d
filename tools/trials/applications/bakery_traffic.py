"""ROUNDS of what visitors and editors of Wagtail's bakery demo do; for `manage.py shell`.

Nothing here is dbdyno's own: the site's test client asks for pages as browsers would, and editors
publish two pages a round.
"""

import os
import random
from collections import Counter

from bakerydemo.blog.models import BlogPage
from bakerydemo.breads.models import BreadPage
from django.contrib.auth import get_user_model
from django.test import Client
from wagtail.models import Page

WORDS = ("bread", "o'clock", "100%", "back\\slash", "ünï", "tea & cake", '"quoted"')
ENDS = (" it's", " \\ x", ' "y"', " – z", "")
LISTS = (
    *("", "images/", "documents/", "users/", "reports/site-history/", "reports/aging-pages/"),
    *("snippets/", "forms/", "redirects/"),
)
draw = random.Random(7)
answered = Counter[int]()
admin = Client()
editor = get_user_model().objects.get(username="admin")
admin.force_login(editor)
pages = list(Page.objects.live().filter(depth__gt=1).specific())
breads, blogs = list(BreadPage.objects.all()), list(BlogPage.objects.all())


def ask(client: Client, address: str, **query: object) -> None:
    """Asks for a page."""
    answered[client.get(address, query).status_code] += 1


def visit() -> None:
    """A visitor reads, searches, and asks the interface for programs."""
    client = Client()
    for page in draw.sample(pages, 4):
        ask(client, page.url or "/")
    for address in ("/breads/", "/blog/", "/locations/", "/recipes/", "/sitemap.xml"):
        ask(client, address)
    ask(client, "/search/", q=draw.choice(WORDS))
    ask(client, "/api/v2/pages/", limit=10, order="title")
    ask(client, "/api/v2/pages/", type="breads.BreadPage", search="bread")
    ask(client, "/api/v2/images/")


def edit(number: int) -> None:
    """An editor lists, searches, edits and publishes."""
    page = draw.choice(pages)
    of_page = (f"{page.get_parent().id}/", f"{page.id}/edit/", f"{page.id}/history/")
    for address in (*LISTS, *(f"pages/{each}" for each in of_page)):
        ask(admin, f"/admin/{address}")
    ask(admin, "/admin/pages/search/", q=draw.choice(WORDS))
    ask(admin, "/admin/images/", q="bread")
    for chosen in (draw.choice(breads), draw.choice(blogs)):
        changed = Page.objects.get(pk=chosen.pk).specific
        changed.title = changed.title[:60] + draw.choice(ENDS)
        changed.save_revision(user=editor).publish()
    redirect = {"old_path": f"/old-{number}/", "redirect_page": pages[0].id, "redirect_link": ""}
    admin.post("/admin/redirects/add/", {**redirect, "site": "", "is_permanent": "on"})


for number in range(int(os.environ["ROUNDS"])):
    visit()
    edit(number)
print(dict(answered))
