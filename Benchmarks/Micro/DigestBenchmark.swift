import TransferCodec
import TransferModel

/// Both digest functions, on a small upload and on a block.
struct DigestBenchmark {
    private static let sizes = [(name: "4 KiB", bytes: 4 << 10), (name: "4 MiB", bytes: 4 << 20)]
    private static let functions = [(name: "XXH3-128", function: DigestFunction.xxh128), ("SHA-256", .sha256)]

    func rates() -> [Figure] {
        Self.functions.flatMap { function in
            Self.sizes.map { size in
                let rate = rate(of: function.function, size.bytes)
                return Figure(name: "\(function.name) of \(size.name)", value: rate, unit: "GB/s")
            }
        }
    }

    /// The rate on a thread that has compressed before. Code that leaves the upper halves of vector registers in use
    /// makes all SSE code after it several times slower.
    func rateAfterCodec() -> Figure {
        Figure(name: "XXH3-128 of 4 KiB, after inflating", value: rate(of: .xxh128, 4 << 10), unit: "GB/s")
    }

    private func rate(of function: DigestFunction, _ size: Int) -> Double {
        let content = Sample.random(size)
        return Rate.perSecond(Double(size) / 1e9) {
            content.withUnsafeBytes { keep(ContentDigester.digest(function, $0)) }
        }
    }
}
