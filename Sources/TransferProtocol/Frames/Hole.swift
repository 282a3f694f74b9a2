import TransferModel

/// Zero bytes of content, such as a hole of a sparse file or a part of a hole. Their `data` frame contains only how
/// many there are.
package struct Hole: Equatable, Sendable {
    /// Bytes of the body, which is the number of zero bytes.
    package static let bodySize = 4

    /// Number of zero bytes, 1 to `Limits.dataBody`.
    package let count: Int

    /// - Parameter count: clamped to 1 to `Limits.dataBody`.
    package init(count: Int) {
        self.count = min(max(1, count), Limits.dataBody)
    }

    /// - Throws: `malformedFrame`.
    package init(_ body: UnsafeRawBufferPointer) throws(ProtocolFault) {
        var reader = BodyReader(body)
        let number = try reader.integer(UInt32.self)
        try reader.finish()
        guard (1...UInt32(Limits.dataBody)).contains(number) else {
            throw .malformed("A hole must have 1 to \(Limits.dataBody) bytes.")
        }
        count = Int(number)
    }

    /// Appends the whole frame, including the header.
    package func encode(into bytes: inout [UInt8]) {
        FrameHeader(.data, encoding: .hole, bodyLength: Self.bodySize).encode(into: &bytes)
        bytes.append(bigEndian: UInt32(count))
    }
}
