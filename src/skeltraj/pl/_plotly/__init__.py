"""Pictures that can be turned: plotly's traces, and the page that holds them."""
