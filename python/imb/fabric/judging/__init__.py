"""The verdict of imb fabric: endpoints, links and pairs from times of pairs. Pure."""
