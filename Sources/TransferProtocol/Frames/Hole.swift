import TransferModel

/// Zero bytes of content for which a `data` frame has only their number: a hole of a sparse file, or some of one.
package struct Hole: Equatable, Sendable {
    /// Bytes of the body that says it.
    package static let bodySize = 4

    /// Zero bytes, 1 to `Limits.dataBody`.
    package let count: Int

    /// - Parameter count: 1 to `Limits.dataBody`; what is beyond is cut.
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

    /// Appends the whole frame.
    package func encode(into bytes: inout [UInt8]) {
        FrameHeader(.data, encoding: .hole, bodyLength: Self.bodySize).encode(into: &bytes)
        bytes.append(bigEndian: UInt32(count))
    }
}
