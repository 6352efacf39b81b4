delete from orrery.debt where fence = @fence::integer and id = any (@debts::bigint[])
