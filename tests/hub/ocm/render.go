// The render command fills in OCM's manifest templates as OCM's operators do, and prints one YAML stream.
//
// Values are a JSON object on standard input; arguments are template files. A value that a template names and the
// object lacks is an error.

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

func render(files []string) error {
	var values map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&values); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	functions := template.FuncMap{
		"indent": func(spaces int, text string) string {
			return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", spaces))
		},
	}
	for _, file := range files {
		parsed, err := template.New(filepath.Base(file)).Funcs(functions).Option("missingkey=error").ParseFiles(file)
		if err != nil {
			return err
		}
		fmt.Println("---")
		if err := parsed.Execute(os.Stdout, values); err != nil {
			return err
		}
		fmt.Println()
	}
	return nil
}
