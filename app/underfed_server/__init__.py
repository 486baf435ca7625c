"""The service of Underfed: ingest, store, diagnosis, advice, API and page."""
