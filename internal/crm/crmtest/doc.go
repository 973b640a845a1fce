// Package crmtest is what the tests of business services share: Main for their TestMain, OnEvery for
// both databases, Rig with a database, an engine, a bus in process and a clock that tests set, and
// definitions of the people of a tenant.
//
// It imports no service but the definitions (metadata), so that the tests of every other service may
// use it from inside their package.
package crmtest
