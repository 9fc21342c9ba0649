"""The API: request and response schemas, REST v1 and v2, OpenAPI, errors."""
