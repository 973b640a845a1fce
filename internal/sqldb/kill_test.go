package sqldb

func child() bool { return false }
