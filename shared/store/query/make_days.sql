select orrery.make_days(@days::integer) as made
