package import TransferModel

/// Reads the fields of a message body in order; every read is checked against what is left. Lives only inside the
/// `withUnsafeBytes` that lends it the body.
package struct BodyReader {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    /// Whether a check was read, which matched.
    private(set) var hasCheck = false

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    package mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws(ProtocolFault) -> T {
        let start = try advance(MemoryLayout<T>.size)
        return T(bigEndian: bytes.loadUnaligned(fromByteOffset: start, as: type))
    }

    package mutating func uploadID() throws(ProtocolFault) -> UploadID {
        UploadID(high: try integer(UInt64.self), low: try integer(UInt64.self))
    }

    /// The next `count` bytes; valid as long as the body.
    package mutating func bytes(_ count: Int) throws(ProtocolFault) -> UnsafeRawBufferPointer {
        let start = try advance(count)
        return UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
    }

    /// The next `count` bytes, copied.
    package mutating func array(_ count: Int) throws(ProtocolFault) -> [UInt8] {
        let start = try advance(count)
        return Array(bytes[start..<start + count])
    }

    /// Two bytes of length, then that many.
    package mutating func sizedArray() throws(ProtocolFault) -> [UInt8] {
        try array(Int(try integer(UInt16.self)))
    }

    package mutating func digest() throws(ProtocolFault) -> Digest {
        let number = try integer(UInt8.self)
        guard let algorithm = DigestAlgorithm(rawValue: number) else {
            throw ProtocolFault(.unsupportedDigest, "Digest algorithm \(number) is not known here.")
        }
        return Digest(algorithm, try array(algorithm.function.size))
    }

    /// The optional fields that end most messages. Unknown ones are skipped unless their tag says that they matter. A
    /// check is compared.
    ///
    /// - Throws: `damagedFrame` when the check doesn't match; `malformedFrame`.
    mutating func fields(known: [FieldTag]) throws(ProtocolFault) -> MessageFields {
        var fields = MessageFields()
        while offset < bytes.count {
            let start = offset
            let tag = FieldTag(rawValue: try integer(UInt8.self))
            guard tag != .check else {
                try compareCheck(of: start)
                continue
            }
            let value = try sizedArray()
            guard known.contains(tag) else {
                if tag.isCritical { throw .malformed("The message has the unknown critical field \(tag.rawValue).") }
                continue
            }
            try fields.add(tag, value)
        }
        return fields
    }

    /// Reads the check behind its tag and compares it. Without an array for it: every small upload has two.
    ///
    /// - Parameter count: bytes of the body that it is about.
    private mutating func compareCheck(of count: Int) throws(ProtocolFault) {
        guard try integer(UInt16.self) == FrameCheck.size, bytes.count - offset == FrameCheck.size else {
            throw .malformed("The check of a message is not its end.")
        }
        let value = try integer(UInt32.self)
        guard value == FrameCheck.value(UnsafeRawBufferPointer(rebasing: bytes[..<count])) else { throw .damaged }
        hasCheck = true
    }

    /// Messages without optional fields end where their last field does.
    package func finish() throws(ProtocolFault) {
        guard offset == bytes.count else {
            throw .malformed("The message has \(bytes.count - offset) bytes too many.")
        }
    }

    private mutating func advance(_ count: Int) throws(ProtocolFault) -> Int {
        guard count <= bytes.count - offset else { throw .malformed("The message ends in the middle of a field.") }
        defer { offset += count }
        return offset
    }
}

extension ProtocolFault {
    static func malformed(_ message: String) -> ProtocolFault { ProtocolFault(.malformedFrame, message) }
}
