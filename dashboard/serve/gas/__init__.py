"""The gas API: four operations, answered from replies that are kept ready."""
