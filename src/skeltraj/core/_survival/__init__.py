"""Time to event: Cox models, curves of Kaplan and Meier, and the tests that go with them."""
