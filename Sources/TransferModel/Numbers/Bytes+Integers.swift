extension RawSpan {
    /// Returns the integer at `offset` in network byte order. The caller has checked that all its bytes are in the
    /// span.
    @inlinable package func bigEndian<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type) -> T {
        T(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: type))
    }

    /// Returns the integer at `offset` in little-endian order. The caller has checked that all its bytes are in the
    /// span.
    @inlinable package func littleEndian<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type) -> T {
        T(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: type))
    }

    /// Returns the first `count` bytes, or fewer if there are fewer.
    package func prefix(_ count: Int) -> [UInt8] {
        (0..<min(byteCount, count)).map { unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
    }
}

extension [UInt8] {
    @inlinable package mutating func append<T: FixedWidthInteger>(bigEndian value: T) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    @inlinable package mutating func append<T: FixedWidthInteger>(littleEndian value: T) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// Overwrites the integer at `offset`, which must be inside.
    @inlinable package mutating func replace<T: FixedWidthInteger>(bigEndian value: T, at offset: Int) {
        Swift.withUnsafeBytes(of: value.bigEndian) { bytes in
            for (index, byte) in bytes.enumerated() { self[offset + index] = byte }
        }
    }
}
