select orrery.keep_day(@day::date, @most::integer) as kept
