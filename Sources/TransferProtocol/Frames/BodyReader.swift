package import TransferModel

/// Reads the fields of a message body in order; every read is checked against the remaining bytes. Valid only inside
/// the `withUnsafeBytes` that lends the body.
package struct BodyReader {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    /// Whether a check was read, and matched.
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

    /// Returns the next `count` bytes, which are valid as long as the body.
    package mutating func bytes(_ count: Int) throws(ProtocolFault) -> UnsafeRawBufferPointer {
        let start = try advance(count)
        return UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
    }

    /// Returns a copy of the next `count` bytes.
    package mutating func array(_ count: Int) throws(ProtocolFault) -> [UInt8] {
        let start = try advance(count)
        return Array(bytes[start..<start + count])
    }

    /// Reads a length of two bytes and then that many bytes.
    package mutating func sizedArray() throws(ProtocolFault) -> [UInt8] {
        try array(Int(try integer(UInt16.self)))
    }

    package mutating func digest() throws(ProtocolFault) -> Digest {
        let number = try integer(UInt8.self)
        guard let algorithm = DigestAlgorithm(rawValue: number) else {
            throw ProtocolFault(.unsupportedDigest, "The digest algorithm \(number) is not supported.")
        }
        return Digest(algorithm, try array(algorithm.function.size))
    }

    /// Reads the optional fields at the end of a message. Unknown fields are skipped unless their tag is critical, and
    /// a check is compared.
    ///
    /// - Throws: `damagedFrame` if the check doesn't match; `malformedFrame`.
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

    /// Reads the value of the check and compares it. No array is allocated, because every small upload has two checks.
    ///
    /// - Parameter count: bytes of the body before the check, which it covers.
    private mutating func compareCheck(of count: Int) throws(ProtocolFault) {
        guard try integer(UInt16.self) == FrameCheck.size, bytes.count - offset == FrameCheck.size else {
            throw .malformed("The check of a message is not its last field.")
        }
        let value = try integer(UInt32.self)
        guard value == FrameCheck.value(UnsafeRawBufferPointer(rebasing: bytes[..<count])) else { throw .damaged }
        hasCheck = true
    }

    /// Checks that the body ends here, for messages without optional fields.
    package func finish() throws(ProtocolFault) {
        guard offset == bytes.count else {
            throw .malformed("The message has \(bytes.count - offset) bytes after its end.")
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
