internal import TransferKeys

/// Reads the records of this target: whole numbers in network byte order, one field after the other. Every field is
/// checked against the remaining bytes.
struct RecordReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: some Collection<UInt8>) {
        rest = Array(bytes)[...]
    }

    /// - Parameter count: may come from a peer; it is checked here.
    mutating func bytes(_ count: Int) throws(SealingError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= rest.count else { throw .malformed("A record ends in the middle of a field.") }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func number<T: FixedWidthInteger>(_ type: T.Type = T.self) throws(SealingError) -> T {
        try bytes(MemoryLayout<T>.size).reduce(0) { $0 << 8 | T(truncatingIfNeeded: $1) }
    }

    mutating func bytes32() throws(SealingError) -> Bytes32 {
        guard let bytes = Bytes32(try bytes(Bytes32.count)) else { throw .malformed("A record has a short key.") }
        return bytes
    }

    /// Takes all bytes that remain.
    mutating func remainder() -> ArraySlice<UInt8> {
        defer { rest = [] }
        return rest
    }

    func finish() throws(SealingError) {
        guard rest.isEmpty else { throw .malformed("A record has \(rest.count) bytes too many.") }
    }
}
