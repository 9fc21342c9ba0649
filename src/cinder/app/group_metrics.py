"""Metrics of several worker processes, summed as those of one server.

Counters and timers are in files that outlive the process that wrote them, so they never decrease.
Gauges are known only to their process, so each process is queried.
"""

import json
from collections import Counter
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from cinder.metrics import Metrics
from cinder.worker_group import WorkerGroup

_QUESTION = "gauges"
_GAUGE = "gauge"


class GroupMetrics:
    """Renders the metrics of all workers together."""

    def __init__(self, metrics: Metrics, group: WorkerGroup) -> None:
        self._metrics = metrics
        self._group = group
        group.handle(_QUESTION, self._send_gauges)

    async def render(self) -> bytes:
        """Return everything in the Prometheus text format."""
        answers = await self._group.ask_others(_QUESTION)
        gauges = _sum(
            self._gauges(), [sample for answer in answers for sample in json.loads(answer)]
        )
        # The library's collector has no types.
        files = MultiProcessCollector(None, str(self._group.metrics_directory))  # type: ignore[no-untyped-call]
        families: list[Metric] = list(files.collect())  # type: ignore[no-untyped-call]
        counted = [family for family in families if family.type != _GAUGE]
        registry = CollectorRegistry()
        registry.register(_Collected([*counted, *gauges]))
        return generate_latest(registry)

    async def _send_gauges(self, _question: bytes) -> bytes:
        samples = [
            (sample.name, sample.labels, sample.value)
            for family in self._gauges()
            for sample in family.samples
        ]
        return json.dumps(samples).encode()

    def _gauges(self) -> list[Metric]:
        return [family for family in self._metrics.registry.collect() if family.type == _GAUGE]


class _Collected(Collector):
    """A collector of families that exist already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _sum(
    families: Iterable[Metric], others: Iterable[tuple[str, dict[str, str], float]]
) -> list[Metric]:
    """Return the families of one worker, with the samples of the others added."""
    added: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
    for name, labels, value in others:
        added[name, tuple(sorted(labels.items()))] += value  # type: ignore[assignment] # a float
    summed = []
    for family in families:
        whole = Metric(family.name, family.documentation, family.type)
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            whole.add_sample(sample.name, sample.labels, sample.value + added[key])
        summed.append(whole)
    return summed
