"""One module a framework, which it imports at its top; nothing imports them but the user."""
