import Glibc

/// The system's secure random numbers, fetched in batches: a call into the kernel for each costs more than a small file's
/// frames.
package struct SecureRandom: RandomNumberGenerator {
    /// What getentropy(3) gives at once.
    private static let batch = 256 / MemoryLayout<UInt64>.size

    private var words: [UInt64] = []

    package init() {}

    package mutating func next() -> UInt64 {
        if words.isEmpty { refill() }
        // Taken out, so that no number is ever given twice.
        return words.popLast() ?? SystemRandomNumberGenerator.number()
    }

    private mutating func refill() {
        words = [UInt64](unsafeUninitializedCapacity: Self.batch) { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            count = getentropy(bytes.baseAddress, bytes.count) == 0 ? Self.batch : 0
        }
    }
}

extension SystemRandomNumberGenerator {
    fileprivate static func number() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
