"""The verdict of imb fabric: endpoints, links and pairs, judged by the times of pairs. Pure."""
