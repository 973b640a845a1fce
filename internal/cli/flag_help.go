package cli

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// A flagHelper is a command whose flags need more words than fit into a tag: the help of each, by the flag's name.
type flagHelper interface {
	FlagHelp() map[string]string
}

func addFlagHelp(k *kong.Kong) error {
	return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
		command, ok := node.(*kong.Node)
		if !ok || !command.Target.IsValid() || !command.Target.CanAddr() {
			return next(nil)
		}
		helper, ok := command.Target.Addr().Interface().(flagHelper)
		if !ok {
			return next(nil)
		}
		help := helper.FlagHelp()
		for _, flag := range command.Flags {
			if text, ok := help[flag.Name]; ok {
				flag.Help = text
				delete(help, flag.Name)
			}
		}
		for name := range help {
			return fmt.Errorf("%s has no flag --%s to give help for", command.Name, name)
		}
		return next(nil)
	})
}
