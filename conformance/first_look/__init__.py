"""The first look (`weldproof check`): tests of a server without payment or credential, which create nothing."""
