"""Serves the website on loopback until it is ended, having printed its address."""

import argparse
import asyncio
import sys

from tests.crawled_site.server import CrawledServer, Manners


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.crawled_site", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="any free one without it")
    parser.add_argument("--latency-seconds", type=float, default=Manners().latency_seconds)
    parser.add_argument("--crawl-delay", type=float, help="what robots.txt asks for, in seconds")
    arguments = parser.parse_args()
    manners = Manners(arguments.latency_seconds, arguments.crawl_delay)
    server = await CrawledServer(manners).listen(arguments.port)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


asyncio.run(main())
