"""What :func:`skeltraj.pl.report` puts on its page: sections of text, pictures and tables, and the page around them."""
