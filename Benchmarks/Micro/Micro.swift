import Glibc

/// Measures parts of the program, and counts the heap allocations of a small upload on each side.
///
/// Exits with 1 if there are more allocations than the file of thresholds allows.
@main
struct Micro {
    static let usage = "usage: micro-benchmarks THRESHOLDS [--update]"

    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.count == 2, arguments[0] == CountedServer.argument {
                try await CountedServer.run(in: arguments[1])
            } else if arguments.count == 1 || arguments.count == 2 && arguments[1] == "--update" {
                try await measure(thresholds: arguments[0], updating: arguments.count == 2)
            } else {
                throw BenchmarkFailure(usage)
            }
        } catch {
            write("micro-benchmarks: \(error)\n", to: STDERR_FILENO)
            exit(1)
        }
    }

    private static func measure(thresholds path: String, updating: Bool) async throws {
        for figure in try FrameBenchmark().rates() + DigestBenchmark().rates() + CodecBenchmark().rates() {
            write("\(figure)\n", to: STDOUT_FILENO)
        }
        write("\(DigestBenchmark().rateAfterCodec())\n", to: STDOUT_FILENO)
        for figure in try ReceiptBenchmark().rates() { write("\(figure)\n", to: STDOUT_FILENO) }
        let counts = try FrameBenchmark().allocations() + (try await UploadBenchmark.allocations())
        for figure in counts { write("\(figure)\n", to: STDOUT_FILENO) }
        if updating {
            try Thresholds(counts).write(to: path)
        } else {
            try Thresholds(path: path).check(counts)
        }
    }

    /// Writes without a buffer, so that each figure appears as soon as it is measured.
    private static func write(_ text: String, to descriptor: Int32) {
        _ = Array(text.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
