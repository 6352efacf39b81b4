select orrery.check_fence(@fence::integer, @partitions::smallint[], @epochs::bigint[])
