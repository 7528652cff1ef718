"""Values that try to break out of a page."""

HOSTILE = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>alert(2)</script><!--"
