"""The highest rate that keeps response times under the plan's limit."""
