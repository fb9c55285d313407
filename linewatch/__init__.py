"""What Streamlit looks for under the name of this project: the scripts of its components."""
