"""slugs.py: the anchors of headings, as tools/docs.py and code hosting sites make them."""
import re


def slugify(title, separator):
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", separator)
