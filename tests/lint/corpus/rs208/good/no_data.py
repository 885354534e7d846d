"""Fetch pages; their order does not matter to anybody."""

from concurrent.futures import ThreadPoolExecutor, as_completed


def fetch(urls, get):
    pages = []
    with ThreadPoolExecutor(4) as pool:
        for future in as_completed([pool.submit(get, url) for url in urls]):
            pages.append(future.result())
    return pages
