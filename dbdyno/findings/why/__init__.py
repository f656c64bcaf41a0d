"""Why a step changed, or what is excluded."""
