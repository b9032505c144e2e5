// A host in Go; processor.go is what a host of your own needs, this file plays the scene that ../README.md tells.
//
//	host REQUEST.pb CONFIG.json
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
)

const patience = time.Minute

func sample() map[string]Tensor {
	return map[string]Tensor{
		"user_id": {[]int64{2}, []int64{7, 101}},
		"items":   {[]int64{2, 2}, []string{"item_3", "item_17", "item_5", ""}},
		"price":   {[]int64{2}, []float32{0.5, -1.25}},
	}
}

func ask(handle *Handle, inputs map[string]Tensor, timeout time.Duration) ([]float32, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	outputs, err := handle.Run(ctx, inputs)
	if err != nil {
		return nil, err
	}
	scores, ok := outputs["score"].Data.([]float32)
	if !ok {
		return nil, errors.New("the model gives no scores of type float")
	}
	return scores, nil
}

func askVersion(handle *Handle) ([]float32, error) {
	fmt.Println("version", handle.Version())
	fmt.Print("inputs")
	for _, input := range handle.Inputs() {
		fmt.Print(" ", input.Name, " ", input.Type)
	}
	fmt.Println()
	scores, err := ask(handle, sample(), patience)
	if err != nil {
		return nil, err
	}
	fmt.Print("score")
	for _, score := range scores {
		fmt.Printf(" %.4f", score)
	}
	fmt.Println()
	return scores, nil
}

// askInThreads asks over one handle; a goroutine has a thread to itself while the library runs.
func askInThreads(handle *Handle, wanted []float32) {
	const threads, requests = 4, 100
	var equal int32
	var all sync.WaitGroup
	for i := 0; i < threads; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < requests; i++ {
				scores, err := ask(handle, sample(), patience)
				if err == nil && reflect.DeepEqual(scores, wanted) {
					atomic.AddInt32(&equal, 1)
				}
			}
		}()
	}
	all.Wait()
	fmt.Printf("%d threads: %d equal answers\n", threads, equal)
}

func tellFailure(what string, err error) {
	var failure *Error
	if errors.As(err, &failure) {
		fmt.Printf("%s: error %d: %v\n", what, failure.Code, failure)
	}
}

func askBadly(handle *Handle) {
	wrong := sample()
	wrong["price"] = Tensor{[]int64{2}, []int32{1, 2}}
	_, err := ask(handle, wrong, patience)
	tellFailure("wrong input", err)
	_, err = ask(handle, sample(), 0)
	tellFailure("late", err)
}

func playVersion(model *Model, play func(*Handle, []float32)) error {
	handle := model.Acquire()
	defer handle.Release()
	scores, err := askVersion(handle)
	if err != nil {
		return err
	}
	play(handle, scores)
	return nil
}

func awaitVersion(model *Model, version int64) {
	fmt.Println("waiting for version", version)
	end := time.Now().Add(patience)
	for model.Version() != version && time.Now().Before(end) {
		time.Sleep(10 * time.Millisecond)
	}
}

func play(request []byte, config string) error {
	_, err := Open("{}")
	tellFailure("wrong configuration", err)
	model, err := Open(config)
	if err != nil {
		return err
	}
	defer model.Close()
	err = playVersion(model, func(handle *Handle, scores []float32) {
		askInThreads(handle, scores)
		askBadly(handle)
	})
	if err != nil {
		return err
	}
	status, answer := model.Process(request)
	fmt.Printf("message: status %d, %d bytes\n", status, len(answer))
	status, answer = model.Process(request[1:])
	fmt.Printf("broken message: status %d: %s\n", status, answer)
	awaitVersion(model, 2)
	return playVersion(model, func(*Handle, []float32) {})
}

func run() error {
	if len(os.Args) != 3 {
		return errors.New("host REQUEST.pb CONFIG.json")
	}
	request, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	config, err := os.ReadFile(os.Args[2])
	if err != nil {
		return err
	}
	return play(request, string(config))
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
