"""The usual way to fetch many pages: Scrapy, as it comes, with as many requests at a time as ours.

Usage: python crawl.py LIST PARALLEL. Reads addresses, one a line; fetches each once and takes its title and its text, as a crawler
would; keeps nothing. Prints the pages and the seconds from the start of the crawl to its end.
"""

import sys
import time

import scrapy
from scrapy.crawler import CrawlerProcess

with open(sys.argv[1]) as file:
    addresses = file.read().split()
parallel = int(sys.argv[2])
seen = 0


class Pages(scrapy.Spider):
    name = "pages"
    start_urls = addresses

    def parse(self, response):
        global seen
        text = " ".join(response.css("main ::text").getall())
        assert response.css("title::text").get() and len(text) > 1000
        seen += 1


process = CrawlerProcess(
    settings={
        "CONCURRENT_REQUESTS": parallel,
        "CONCURRENT_REQUESTS_PER_DOMAIN": parallel,
        "DOWNLOAD_DELAY": 0,
        "LOG_ENABLED": False,
        "ROBOTSTXT_OBEY": True,
        "TELNETCONSOLE_ENABLED": False,
    }
)
process.crawl(Pages)
start = time.perf_counter()
process.start()
print(seen, time.perf_counter() - start)
