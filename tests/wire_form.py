"""Events as the objects that their lines are, and back: what tests write and look at."""

import json

import msgspec

from dbdyno.model import Json, events
from dbdyno.run.driver.lines import made


def plain(event: events.AnyEvent | events.UnknownContent) -> Json:
    """The object of an event's line."""
    assert not isinstance(event, events.UnknownContent), event.words
    found: Json = json.loads(events.line(event))
    return found


def typed(keys: Json) -> events.AnyEvent:
    """The event of an object."""
    event: events.AnyEvent = msgspec.convert(keys, events.AnyEvent)
    return event


def tick(keys: Json) -> events.Tick:
    """The tick of an object; now, and null, where it lacks a key that may be."""
    event = made(events.Tick, keys)
    assert isinstance(event, events.Tick)
    return event
