package flow

import (
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/fault"
)

// largeData is from how many bytes on data is worth a look of its own, before the decision.
const largeData = 4 << 10

// Accept does what Decide does with the data of a command, outside the loop in which a store
// decides: it gives the command with its data checked and in the form that the log keeps, for
// Facts.Accepted. It reports false when that is not worth it, or the data is none: then Decide
// has to look.
func Accept(c Command) (Command, bool) {
	switch own := c.(type) { // only what is accepted is worth the memory of a copy
	case Create:
		if acceptLarge(&own.Input) {
			return own, true
		}
	case Progress:
		if acceptLarge(&own.Metrics) {
			return own, true
		}
	case Wait:
		if acceptLarge(&own.Prompt) {
			return own, true
		}
	case Resume:
		if acceptLarge(&own.Output) {
			return own, true
		}
	case Succeed:
		if acceptLarge(&own.Output) {
			return own, true
		}
	case Fail:
		if own.Error == nil {
			break
		}
		detail := own.Error.Detail
		if acceptLarge(&detail) {
			e := *own.Error
			e.Detail = detail
			own.Error = &e
			return own, true
		}
	}
	return c, false
}

func acceptLarge(data *Data) bool {
	if len(*data) < largeData {
		return false
	}
	out, err := accept(*data)
	if err == nil {
		*data = out
	}
	return err == nil
}

// accept checks a caller's data and brings it into the one form that survives the
// log unchanged: no white space, strings with as few escapes as can be. The
// result shares no memory with the request.
func accept(data Data) (Data, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if string(data) == "{}" {
		return emptyObject, nil
	}
	out, err := jsontext.AppendFormat(make(Data, 0, len(data)), data)
	if err != nil {
		return nil, fault.New(fault.Invalid, "INVALID_JSON", "The data is not valid JSON.")
	}
	return out, nil
}

var emptyObject = Data("{}")

// take is accept for data that the execution will hold, beside more bytes of text.
func (d *draft) take(data Data, more int) (Data, error) {
	if !d.facts.Accepted {
		var err error
		if data, err = accept(data); err != nil {
			return nil, err
		}
	}
	return data, d.room(int64(len(data) + more))
}

func (d *draft) takeError(e *Error) (*Error, error) {
	if e == nil {
		return nil, nil
	}
	if !d.facts.Accepted {
		detail, err := accept(e.Detail)
		if err != nil {
			return nil, err
		}
		accepted := *e
		accepted.Detail = detail
		e = &accepted
	}
	return e, d.room(e.size())
}

// room checks that the execution may hold so many more bytes of callers' data.
func (d *draft) room(more int64) error {
	if more > 0 && d.Data+more > MaxExecutionData {
		return fault.New(fault.TooLarge, "EXECUTION_TOO_LARGE",
			"The execution would hold %d bytes of data; at most %d are allowed.", d.Data+more, int64(MaxExecutionData))
	}
	return nil
}
