package canonical

import "testing"

var bodies = map[string]string{
	"start": `{"attempt":1,"workerId":"worker-7"}`,
	"success": `{"attempt":1,"workerId":"worker-7","output":{"rows":120,"ok":true,"path":"s3://bucket/a/b"},` +
		`"next":true}`,
	"unicode": `{"reason":"月次の締め処理を取り消す","attempt":1,"workerId":"worker-7","output":{"rows":120,"ok":true}}`,
}

func BenchmarkParseIdempotencyKey(b *testing.B) {
	for name, body := range bodies {
		b.Run(name, func(b *testing.B) {
			raw := []byte(body)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseIdempotencyKey("key", "POST /x", raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCanonical(b *testing.B) {
	for name, body := range bodies {
		b.Run(name, func(b *testing.B) {
			raw, dst := []byte(body), make([]byte, 0, 512)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Canonical(dst, raw, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	raw := []byte(`{"count":1,"text":"worker-7","raw":{"rows":120,"ok":true,"path":"s3://bucket/a/b"},"flag":true}`)
	b.ReportAllocs()
	for b.Loop() {
		var into sample
		if err := Decode(raw, &into); err != nil {
			b.Fatal(err)
		}
	}
}
