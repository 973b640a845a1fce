package model

// Named is what people call the thing that an id stands for.
type Named struct {
	Kind  Kind
	Label string
}

// Name finds what an id stands for among the definitions that have names of their own.
func (m *Model) Name(id string) (n Named, ok bool) {
	for _, kind := range Kinds {
		d, found := m.Get(kind, id)
		if !found {
			continue
		}
		if label := label(d.Value); label != "" {
			return Named{kind, label}, true
		}
	}
	return n, false
}

func label(value any) string {
	switch v := value.(type) {
	case *User:
		return v.Name
	case *Role:
		return v.Name
	case *Group:
		return v.Name
	case *PermissionSet:
		return v.Name
	case *SharingRule:
		return v.Name
	case *ValidationRule:
		return v.Name
	case *WorkflowRule:
		return v.Name
	case *ScheduledJob:
		return v.Name
	case *ApprovalProcess:
		return v.Name
	}
	return ""
}
