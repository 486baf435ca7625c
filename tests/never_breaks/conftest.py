"""The same house rules as for the agent's own tests: a recording leaves nothing behind."""

from tests.agent.conftest import any_service, guest, run_id, service

__all__ = ["any_service", "guest", "run_id", "service"]
