"""ROUNDS of what visitors and staff of Oscar's sandbox do; for `manage.py shell`.

Nothing here is dbdyno's own: the shop's test client asks for pages as browsers would. Every second
visitor registers; all put products into a basket, and place an order.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from oscar.core.loading import get_model

Product = get_model("catalogue", "Product")
Order = get_model("order", "Order")
WORDS = ("hacking", "computer", "o'reilly", "100%", "back\\slash", "ünïcode", "a\tb")
DASHBOARD = (
    *("index", "catalogue-product-list", "order-list", "order-stats", "users-index", "offer-list"),
    *("voucher-list", "range-list", "reviews-list", "page-list", "partner-list", "comms-list"),
    *("reports-index", "catalogue-category-list", "stock-alert-list"),
)
ADDRESS = {
    "first_name": "Zoë",
    "last_name": "O'Brien",
    "line1": "1 High St \\ flat",
    "line4": "London",
    "postcode": "N1 9RT",
    "country": "GB",
    "notes": "leave\nat door",
}
REVIEW = {"title": "It's good", "body": "line one\nline two; -- no comment\t'quoted'\\"}
PASSWORD = {f"registration-password{number}": "pass word!9" for number in (1, 2)}
binding = os.environ["BINDING"]
draw = random.Random(10 + int(binding))
answered = Counter[object]()
products = list(Product.objects.filter(structure="standalone")[:80])
categories = list(get_model("catalogue", "Category").objects.all())
admin = Client()
admin.force_login(
    get_user_model().objects.get(username="superuser"),
    backend="django.contrib.auth.backends.ModelBackend",
)


def get(client: Client, name: str, /, *arguments: object, **query: object) -> None:
    """Asks for a page, by the name of its address."""
    ask(client.get, reverse(name, args=arguments), query)


def post(client: Client, name: str, /, *arguments: object, **fields: object) -> None:
    """Sends a form."""
    ask(client.post, reverse(name, args=arguments), fields)


def ask(send: Callable[..., Any], address: str, data: Mapping[str, object]) -> None:
    """Counts what comes back; some pages of the sandbox fail by themselves."""
    try:
        answered[send(address, data, follow=True).status_code] += 1
    except Exception as error:
        answered[type(error).__name__] += 1


def visit(number: int) -> None:
    """A visitor looks round, fills a basket, and orders."""
    client, email = Client(), f"visitor{binding}-{number}@example.com"
    ask(client.get, "/en-gb/", {})
    get(client, "catalogue:index", page=draw.randint(1, 5))
    ask(client.get, draw.choice(categories).get_absolute_url(), {})
    get(client, "search:search", q=draw.choice(WORDS))
    registers = number % 2 == 0
    if registers:
        post(
            client,
            "customer:register",
            **{"registration_submit": "1", "registration-email": email, **PASSWORD},
        )
    for _ in range(draw.randint(1, 3)):
        product = draw.choice(products)
        ask(client.get, product.get_absolute_url(), {})
        post(client, "basket:add", product.pk, quantity=draw.randint(1, 2))
    get(client, "basket:summary")
    post(client, "basket:vouchers-add", code=draw.choice(("NONE'S", "X")))
    if registers:
        review = {**REVIEW, "score": draw.randint(1, 5)}
        post(client, "catalogue:reviews-add", product.slug, product.pk, **review)
        post(client, "customer:wishlists-add-product", product.pk)
        get(client, "customer:wishlists-list")
    else:
        post(client, "checkout:index", username=email, options="anonymous", password="")
    post(client, "checkout:shipping-address", **ADDRESS)
    get(client, "checkout:shipping-method")
    get(client, "checkout:payment-details")
    post(client, "checkout:preview", action="place_order")
    if registers:
        get(client, "customer:order-list")


def manage(number: int) -> None:
    """Staff looks at lists, searches, and takes the last order on."""
    get(admin, f"dashboard:{DASHBOARD[number % len(DASHBOARD)]}")
    get(admin, "dashboard:catalogue-product", draw.choice(products).pk)
    get(admin, "dashboard:order-list", name="O'Brien", date_from="2020-01-01")
    ask(admin.get, "/admin/order/order/", {"q": "visitor"})
    ask(admin.get, "/admin/catalogue/product/", {})
    if order := Order.objects.order_by("-id").first():
        get(admin, "dashboard:order-detail", order.number)
        change = {"order_action": "change_order_status", "new_status": "Being processed"}
        post(admin, "dashboard:order-detail", order.number, **change)


for number in range(int(os.environ["ROUNDS"])):
    visit(number)
    manage(number)
print(dict(answered), Order.objects.count(), "orders")
