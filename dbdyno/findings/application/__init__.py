"""An application's queries together: may one upgrade?"""
