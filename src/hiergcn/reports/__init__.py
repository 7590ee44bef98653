"""HTML pages and charts. Each page is one file and works offline."""
