"""Ask and act: what people can ask of Linewatch and do in it, one module for each subject."""
