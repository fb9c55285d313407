"""What joins tracking and rejections: all that is known of one hash."""
