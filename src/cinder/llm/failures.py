"""How a language model fails to answer.

ModelFailed               EXTRACTION_FAILED  it is down, refuses, or is not understood
├── ContextTooLong        the prompt is longer than the model reads
├── ModelLengthExceeded   the answer is longer than it may be
├── ModelAnswerInvalid    the answer does not match the schema, nor did a second one
├── BudgetSpent           nothing is left of the request's budget
└── FormatRefused         the endpoint takes no request of this shape
"""

from cinder.errors import CinderError, ErrorCode


class ModelFailed(CinderError):
    """The language model gave no answer."""

    code = ErrorCode.EXTRACTION_FAILED


class ContextTooLong(ModelFailed):
    """The prompt is longer than the language model can read."""


class ModelLengthExceeded(ModelFailed):
    """The language model's answer is longer than it may be."""


class ModelAnswerInvalid(ModelFailed):
    """The language model's answer does not match the schema."""


class BudgetSpent(ModelFailed):
    """The request's budget for the language model is spent."""


class FormatRefused(ModelFailed):
    """The language model's server takes no request of this shape."""
