package flow

// Values makes plain values of JSON, as conditions look at them; what is not JSON is null.
func Values(data Data) any { return decode(data) }
