package expr

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// What a step is worth: about the time of one look-up. A step walks this many bytes
// of text, and this many pairs of byte and state of a regular expression.
const (
	bytesPerStep  = 64
	statesPerStep = 16
)

// meter prices the calls that CEL makes itself: one step, and the text they touch.
type meter struct{}

// CallCost is asked after each call.
func (meter) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	cost := uint64(1)
	if function == chargeFunction {
		cost = uint64(args[0].(types.Int))
		return &cost
	}
	for _, arg := range args {
		cost += textSteps(arg)
	}
	cost += textSteps(result)
	if keys, ok := result.(*keyList); ok {
		cost += keys.steps
	}
	return &cost
}

func textSteps(v any) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v) / bytesPerStep)
	case string:
		return uint64(len(v) / bytesPerStep)
	case types.Bytes:
		return uint64(len(v) / bytesPerStep)
	}
	return 0
}

// chargeFunction is the name under which the nodes of this package charge.
const chargeFunction = "@charge"

type chargeCall struct{}

func (chargeCall) Function() string   { return chargeFunction }
func (chargeCall) OverloadID() string { return chargeFunction }

// charge counts steps against the limit and ends the evaluation when it is passed.
func charge(frame *interpreter.ExecutionFrame, id int64, steps uint64) {
	costs := frame.CostTracker()
	switch {
	case costs == nil || steps == 0:
	case steps == 1:
		costs.Qualify(id)
	default:
		costs.EvalUnary(nil, id, chargeCall{}, types.Int(min(steps, MaxSteps+1)), nil)
	}
}

func programOptions() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.CostTracking(meter{}),
		cel.CostLimit(MaxSteps),
		cel.CustomDecoratorV2(decorate),
	}
}
