"""What stands between the browser and Streamlit: headers, addresses, uploads, logs."""
