// Package test holds what is asked of the real program: killed, cut off, filled, raced, measured, upgraded. A
// test starts it as a process of its own (this test binary, run once more), or plays a command in place.
package test
