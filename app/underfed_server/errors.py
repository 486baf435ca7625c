"""What can go wrong in the service, named after what the caller can do about it.

::

    UnderfedError
    ├── SettingsError            an argument or a variable of the environment must be changed
    ├── StartError               the service cannot start here; the message says what to change
    ├── BackupError              no copy was made, and nothing is left of the attempt
    ├── MoveError                nothing was moved to the other database
    └── RequestError             one request is answered with `status` and `code`
        ├── MalformedError       400 not JSON, or not inflatable
        ├── UnknownVersionError  400 the agent is newer than the service
        ├── InvalidError         422 (ingest: 400) a field has a value it cannot have
        ├── UnauthorisedError    401 no token, or one that is not known
        ├── ForbiddenError       403 this token, host or page may not do that
        ├── NotFoundError        404 there is no such thing
        ├── MethodNotAllowedError 405 the address exists, but does not take this method
        ├── SlowRequestError     408 its headers or its body did not come in time
        ├── ConflictError        409 not in this state
        │   └── OutOfOrderError  409 an earlier window is missing
        ├── TooLargeError        413 the body is larger than the service reads
        ├── UnsupportedMediaTypeError 415 the body is of a kind that the service does not read
        ├── HeadersTooLargeError 431 the headers are larger than the service reads
        └── TryLaterError        503 the same request may succeed later
            └── TooManyRequestsError 429 more came than one token or address may send
"""

from __future__ import annotations

from typing import ClassVar

from underfed_server.model import ErrorBody, ErrorDetail


class UnderfedError(Exception):
    """Base of all errors that the service raises on purpose: the message is a sentence for a person."""


class SettingsError(UnderfedError): ...


class StartError(UnderfedError): ...


class BackupError(UnderfedError): ...


class MoveError(UnderfedError): ...


class RequestError(UnderfedError):
    status: ClassVar[int] = 400
    code: ClassVar[str] = "bad_request"

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field

    @property
    def headers(self) -> dict[str, str]:
        return {}

    def detail(self) -> ErrorDetail:
        return ErrorDetail(code=self.code, message=self.message, field=self.field)


class MalformedError(RequestError):
    code = "malformed"


class UnknownVersionError(RequestError):
    code = "unknown_version"


class InvalidError(RequestError):
    status = 422
    code = "invalid"


class UnauthorisedError(RequestError):
    status = 401
    code = "unauthorised"

    @property
    def headers(self) -> dict[str, str]:
        return {"WWW-Authenticate": "Bearer"}


class ForbiddenError(RequestError):
    status = 403
    code = "forbidden"


class NotFoundError(RequestError):
    status = 404
    code = "not_found"


class MethodNotAllowedError(RequestError):
    status = 405
    code = "method_not_allowed"

    def __init__(self, message: str, *, allow: str) -> None:
        super().__init__(message)
        self.allow = allow

    @property
    def headers(self) -> dict[str, str]:
        return {"Allow": self.allow}


class ConflictError(RequestError):
    status = 409
    code = "conflict"


class OutOfOrderDetail(ErrorDetail):
    next_window_index: int


class OutOfOrderError(ConflictError):
    code = "out_of_order"

    def __init__(self, message: str, *, next_window_index: int) -> None:
        super().__init__(message, field="window_index")
        self.next_window_index = next_window_index

    def detail(self) -> OutOfOrderDetail:
        return OutOfOrderDetail(
            code=self.code, message=self.message, field=self.field, next_window_index=self.next_window_index
        )


class TooLargeError(RequestError):
    status = 413
    code = "too_large"


class SlowRequestError(RequestError):
    status = 408
    code = "request_timeout"


class HeadersTooLargeError(RequestError):
    status = 431
    code = "headers_too_large"


class UnsupportedMediaTypeError(RequestError):
    status = 415
    code = "unsupported_media_type"


class TryLaterError(RequestError):
    status = 503
    code = "unavailable"

    def __init__(self, message: str, *, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.retry_after_s)}


class TooManyRequestsError(TryLaterError):
    status = 429
    code = "too_many_requests"


def internal_error(request_id: str) -> ErrorDetail:
    """What the client learns of an unexpected failure: the log has the traceback, under the same id."""
    message = f"the service failed; its log says why under {request_id}"
    return ErrorDetail(code="internal", message=message, request_id=request_id)


def written(detail: ErrorDetail) -> bytes:
    """The one JSON shape of every failure: ``{"error": {"code", "message", "field"?}}``."""
    body = ErrorBody.model_construct(error=detail)
    return body.model_dump_json(exclude_none=True, serialize_as_any=True).encode()
