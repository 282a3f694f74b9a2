import TransferCodec
import TransferProtocol

/// Both digest functions, on a small upload and on a block.
struct DigestBenchmark {
    private static let sizes = [(name: "4 KiB", bytes: 4 << 10), (name: "4 MiB", bytes: 4 << 20)]
    private static let functions = [(name: "XXH3-128", function: DigestFunction.xxh128), ("SHA-256", .sha256)]

    func rates() -> [Figure] {
        Self.functions.flatMap { function in
            Self.sizes.map { size in
                let content = Sample.random(size.bytes)
                let rate = Rate.perSecond(Double(size.bytes) / 1e9) {
                    content.withUnsafeBytes { keep(ContentDigester.digest(function.function, $0)) }
                }
                return Figure(name: "\(function.name) of \(size.name)", value: rate, unit: "GB/s")
            }
        }
    }
}
