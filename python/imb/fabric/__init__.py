"""Sweeps over pairs of endpoints: name the slow core, host, link or group of links. Pure."""
