select orrery.drop_day(@day::date) as dropped
