"""A page with one chart of Plotly, as Streamlit shows it: what our pages are compared with."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

steps = np.random.default_rng(7).normal(size=2_000).cumsum()
st.plotly_chart(go.Figure(go.Scatter(y=steps)))
