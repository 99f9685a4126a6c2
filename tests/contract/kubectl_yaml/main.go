// Tells what kubectl reads in YAML texts, by the library that it reads them with.
//
// Each line of standard input is a JSON list that begins with a text. Standard output has a line for each: the text
// and the JSON that it stands for; or the text, null and the words of the library where it refuses the text.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := tell(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func tell(in io.Reader, out io.Writer) error {
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		var given []any
		if err := decoder.Decode(&given); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(given) == 0 {
			return errors.New("a line is an empty list")
		}
		text, ok := given[0].(string)
		if !ok {
			return fmt.Errorf("%v is no text", given[0])
		}
		told := []any{text, nil}
		if read, err := yaml.YAMLToJSON([]byte(text)); err != nil {
			told = append(told, err.Error())
		} else {
			told[1] = json.RawMessage(read)
		}
		if err := encoder.Encode(told); err != nil {
			return err
		}
	}
}
