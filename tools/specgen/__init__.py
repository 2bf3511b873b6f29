"""From the specification to code: loader, model, linter, and one emitter per target."""
