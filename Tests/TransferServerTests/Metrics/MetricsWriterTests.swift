import Testing
import TransferSystem

@testable import TransferServer

@Suite struct MetricsWriterTests {
    private static func text(_ format: MetricsWriter.Format, _ write: (inout MetricsWriter) -> Void) -> String {
        var writer = MetricsWriter(format)
        write(&writer)
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    @Test func countersAndFactsHaveTheirSuffix() {
        let write = { (writer: inout MetricsWriter) in
            writer.begin("a_bytes", .counter, unit: "bytes", help: "A.")
            writer.sample([("x", "1"), ("y", "2")], 3 as UInt64)
            writer.begin("b", .info, help: "B.")
            writer.sample([("v", "0")], 1 as UInt64)
            writer.begin("c", .gauge, help: "C.")
            writer.sample([], 0.5)
        }
        #expect(
            Self.text(.prometheus, write) == """
                # HELP a_bytes_total A.
                # TYPE a_bytes_total counter
                a_bytes_total{x="1",y="2"} 3
                # HELP b_info B.
                # TYPE b_info gauge
                b_info{v="0"} 1
                # HELP c C.
                # TYPE c gauge
                c 0.5

                """)
        #expect(
            Self.text(.openMetrics, write) == """
                # HELP a_bytes A.
                # TYPE a_bytes counter
                # UNIT a_bytes bytes
                a_bytes_total{x="1",y="2"} 3
                # HELP b B.
                # TYPE b info
                b_info{v="0"} 1
                # HELP c C.
                # TYPE c gauge
                c 0.5
                # EOF

                """)
    }

    @Test(arguments: MetricsWriter.Format.allCases) func whatCouldEndATextIsEscaped(_ format: MetricsWriter.Format) {
        let text = Self.text(format) { writer in
            writer.begin("a", .gauge, help: "a\\b\n\"c\"")
            writer.sample([("l", "a\\b\n\"c\"")], 1 as UInt64)
        }
        let quote = format == .openMetrics ? "\\\"" : "\""
        #expect(text.hasPrefix("# HELP a a\\\\b\\n\(quote)c\(quote)\n"))
        #expect(text.contains("a{l=\"a\\\\b\\n\\\"c\\\"\"} 1\n"))
    }

    @Test func histogramsAddUp() {
        let histogram = DurationHistogram()
        for duration in [-1, 0, 100_000, 100_001, 2_000_000_000, 4_000_000_000_000] as [Int64] {
            histogram.add(duration)
        }
        let text = Self.text(.prometheus) { writer in
            writer.begin("d_seconds", .histogram, unit: "seconds", help: "D.")
            writer.sample([], histogram.reading)
        }
        for line in [
            "d_seconds_bucket{le=\"0.0001\"} 3", "d_seconds_bucket{le=\"0.0005\"} 4", "d_seconds_bucket{le=\"1.0\"} 4",
            "d_seconds_bucket{le=\"2.5\"} 5", "d_seconds_bucket{le=\"1800.0\"} 5", "d_seconds_bucket{le=\"+Inf\"} 6",
            "d_seconds_count 6",
        ] {
            #expect(text.contains("\(line)\n"), "\(line) in \(text)")
        }
        #expect(!text.contains("_created"))
    }

    @Test(arguments: [(Double.nan, "NaN"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (1e21, "1e+21"), (0, "0.0")])
    func numbersAreThoseThatReadersKnow(_ value: Double, _ text: String) {
        let written = Self.text(.prometheus) { writer in
            writer.begin("a", .gauge, help: "A")
            writer.sample([], value)
        }
        #expect(written.hasSuffix("a \(text)\n"))
    }
}
