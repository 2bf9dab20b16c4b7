"""A ReFrame configuration for one machine without a scheduler; replace it with the configuration of your site."""

site_configuration = {
    "systems": [
        {
            "name": "here",
            "hostnames": [".*"],
            "partitions": [
                # One test at a time: two would measure each other.
                {
                    "name": "local",
                    "scheduler": "local",
                    "launcher": "mpirun",
                    "max_jobs": 1,
                    "environs": ["builtin"],
                },
            ],
        }
    ],
    "environments": [{"name": "builtin"}],
}
