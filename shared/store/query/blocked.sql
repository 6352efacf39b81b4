select execution from orrery.blocked where partition = any (@partitions::smallint[]) order by execution
