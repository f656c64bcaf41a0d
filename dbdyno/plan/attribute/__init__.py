"""`dyno attribute`: two arms of a plan become a plan whose arms mix what the two differ in.

Nothing here looks at the host: what is known of it is handed over.
"""

from dbdyno.plan.attribute.design import designed
from dbdyno.plan.attribute.factor import Sides, exchanges, refuse
from dbdyno.plan.attribute.text import MADE_BY, AttributedPlan, text_of

__all__ = ["MADE_BY", "AttributedPlan", "Sides", "designed", "exchanges", "refuse", "text_of"]
