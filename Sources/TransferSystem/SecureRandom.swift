import Glibc

/// The system's secure random numbers, fetched in batches: a system call for each number would cost more than sending
/// the frames of a small file.
package struct SecureRandom: RandomNumberGenerator {
    /// Numbers in one batch, the most that getentropy(3) returns.
    private static let batch = 256 / MemoryLayout<UInt64>.size

    private var words: [UInt64] = []

    package init() {}

    package mutating func next() -> UInt64 {
        if words.isEmpty { refill() }
        // The number is removed from the batch, so that no number is returned twice.
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
