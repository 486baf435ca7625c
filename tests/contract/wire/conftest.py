"""Recordings for this contract are made as the agent's tests make them."""

from tests.agent.conftest import any_service, guest, run_id, service

__all__ = ["any_service", "guest", "run_id", "service"]
